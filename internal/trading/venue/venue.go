// Package venue has what the brokers of venues share: the venue's clock, signatures, the reading of answers,
// requests and what is known of their outcome, refusals by tables, checks of orders and groups, pages, and
// connections on which reports come. A broker has the venue's addresses, words and forms.
package venue
