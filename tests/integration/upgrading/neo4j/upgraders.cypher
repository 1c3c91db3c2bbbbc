// what: finds the transactions that keep others out of an upgrade
// parameters: none
// returns: one row a transaction: id
SHOW TRANSACTIONS YIELD transactionId, metaData
WHERE metaData['drag-graph'] IS NOT NULL
RETURN transactionId AS id
