module github.com/goassay/assay

go 1.26
