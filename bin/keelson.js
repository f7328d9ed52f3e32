#!/usr/bin/env node
// Starts the bundled command. From Node 22 on, V8's compiled code is kept between starts.
require('node:module').enableCompileCache?.()
require('../dist/cli.cjs')
  .main(process.argv.slice(2))
  .then(code => {
    // Everything is closed: what a dead client left pending must not keep the process.
    process.exit(code)
  })
