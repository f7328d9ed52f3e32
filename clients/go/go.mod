module example.com/keelson-testing

go 1.19
