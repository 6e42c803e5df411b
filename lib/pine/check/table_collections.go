package check

// collectionTable has arrays, matrices and maps.
const collectionTable = `
array.new(int size = 0, T? initial_value) series array<T>
array.new_int(int size = 0, int? initial_value) series array<int>
array.new_float(int size = 0, float? initial_value) series array<float>
array.new_bool(int size = 0, bool? initial_value) series array<bool>
array.new_string(int size = 0, string? initial_value) series array<string>
array.new_color(int size = 0, color? initial_value) series array<color>
array.new_line(int size = 0, line? initial_value) series array<line>
array.new_label(int size = 0, label? initial_value) series array<label>
array.new_box(int size = 0, box? initial_value) series array<box>
array.new_table(int size = 0, table? initial_value) series array<table>
array.new_linefill(int size = 0, linefill? initial_value) series array<linefill>
array.from(T... arg0) series array<T>
array.abs(array<N> id) series array<N>
array.avg(array<N> id) series N
array.binary_search(array<N> id, N val) series int
array.binary_search(array<T> id, any val, const any? sort_field) series int | form=field
array.binary_search_leftmost(array<N> id, N val) series int
array.binary_search_leftmost(array<T> id, any val, const any? sort_field) series int | form=field
array.binary_search_rightmost(array<N> id, N val) series int
array.binary_search_rightmost(array<T> id, any val, const any? sort_field) series int | form=field
array.clear(array<T> id) void
array.concat(array<T> id1, array<T> id2) series array<T>
array.copy(array<T> id) series array<T>
array.covariance(array<N> id1, array<M> id2, bool biased = true) series float
array.every(array<bool> id) series bool
array.fill(array<T> id, T value, int index_from = 0, int? index_to) void
array.first(array<T> id) series T
array.get(array<T> id, int index) series T
array.includes(array<T> id, T value) series bool
array.indexof(array<T> id, T value) series int
array.insert(array<T> id, int index, T value) void
array.join(array<T> id, string separator = "") series string
array.last(array<T> id) series T
array.lastindexof(array<T> id, T value) series int
array.max(array<N> id, int nth = 0) series N
array.median(array<N> id) series N
array.min(array<N> id, int nth = 0) series N
array.mode(array<N> id) series N
array.percentile_linear_interpolation(array<N> id, float percentage) series float
array.percentile_nearest_rank(array<N> id, float percentage) series N
array.percentrank(array<N> id, int index) series float
array.pop(array<T> id) series T
array.push(array<T> id, T value) void
array.range(array<N> id) series N
array.remove(array<T> id, int index) series T
array.reverse(array<T> id) void
array.set(array<T> id, int index, T value) void
array.shift(array<T> id) series T
array.size(array<T> id) series int
array.slice(array<T> id, int index_from, int index_to) series array<T>
array.some(array<bool> id) series bool
array.sort(array<T> id, sort_order order = order.ascending, const any? sort_field) void
array.sort_indices(array<T> id, sort_order order = order.ascending, const any? sort_field) series array<int>
array.standardize(array<N> id) series array<float>
array.stdev(array<N> id, bool biased = true) series float
array.sum(array<N> id) series N
array.unshift(array<T> id, T value) void
array.variance(array<N> id, bool biased = true) series float
matrix.new(int rows = 0, int columns = 0, T? initial_value) series matrix<T>
matrix.add_col(matrix<T> id, int? column, array<T>? array_id) void
matrix.add_row(matrix<T> id, int? row, array<T>? array_id) void
matrix.avg(matrix<N> id) series N
matrix.col(matrix<T> id, int column) series array<T>
matrix.columns(matrix<T> id) series int
matrix.concat(matrix<T> id1, matrix<T> id2) series matrix<T>
matrix.copy(matrix<T> id) series matrix<T>
matrix.det(matrix<N> id) series float
matrix.diff(matrix<N> id1, matrix<M> id2) series matrix<W>
matrix.diff(matrix<N> id1, M id2) series matrix<W> | form=number
matrix.eigenvalues(matrix<N> id) series array<float>
matrix.eigenvectors(matrix<N> id) series matrix<float>
matrix.elements_count(matrix<T> id) series int
matrix.fill(matrix<T> id, T value, int from_row = 0, int? to_row, int from_column = 0, int? to_column) void
matrix.get(matrix<T> id, int row, int column) series T
matrix.inv(matrix<N> id) series matrix<float>
matrix.is_antidiagonal(matrix<N> id) series bool
matrix.is_antisymmetric(matrix<N> id) series bool
matrix.is_binary(matrix<N> id) series bool
matrix.is_diagonal(matrix<N> id) series bool
matrix.is_identity(matrix<N> id) series bool
matrix.is_square(matrix<T> id) series bool
matrix.is_stochastic(matrix<N> id) series bool
matrix.is_symmetric(matrix<N> id) series bool
matrix.is_triangular(matrix<N> id) series bool
matrix.is_zero(matrix<N> id) series bool
matrix.kron(matrix<N> id1, matrix<M> id2) series matrix<W>
matrix.max(matrix<N> id) series N
matrix.median(matrix<N> id) series N
matrix.min(matrix<N> id) series N
matrix.mode(matrix<N> id) series N
matrix.mult(matrix<N> id1, matrix<M> id2) series matrix<W>
matrix.mult(matrix<N> id1, array<M> id2) series array<W> | form=array
matrix.mult(matrix<N> id1, M id2) series matrix<W> | form=number
matrix.pinv(matrix<N> id) series matrix<float>
matrix.pow(matrix<N> id, int power) series matrix<N>
matrix.rank(matrix<N> id) series int
matrix.remove_col(matrix<T> id, int? column) series array<T>
matrix.remove_row(matrix<T> id, int? row) series array<T>
matrix.reshape(matrix<T> id, int rows, int columns) void
matrix.reverse(matrix<T> id) void
matrix.row(matrix<T> id, int row) series array<T>
matrix.rows(matrix<T> id) series int
matrix.set(matrix<T> id, int row, int column, T value) void
matrix.sort(matrix<T> id, int column = 0, sort_order order = order.ascending, const any? sort_field) void
matrix.submatrix(matrix<T> id, int from_row = 0, int? to_row, int from_column = 0, int? to_column) series matrix<T>
matrix.sum(matrix<N> id1, matrix<M> id2) series matrix<W>
matrix.sum(matrix<N> id1, M id2) series matrix<W> | form=number
matrix.swap_columns(matrix<T> id, int column1, int column2) void
matrix.swap_rows(matrix<T> id, int row1, int row2) void
matrix.trace(matrix<N> id) series N
matrix.transpose(matrix<T> id) series matrix<T>
map.new() series map<K, V>
map.clear(map<K, V> id) void
map.contains(map<K, V> id, K key) series bool
map.copy(map<K, V> id) series map<K, V>
map.get(map<K, V> id, K key) series V
map.keys(map<K, V> id) series array<K>
map.put(map<K, V> id, K key, V value) series V
map.put_all(map<K, V> id, map<K, V> id2) void
map.remove(map<K, V> id, K key) series V
map.size(map<K, V> id) series int
map.values(map<K, V> id) series array<V>
`
