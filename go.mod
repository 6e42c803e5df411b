module candela

go 1.26
