#!/usr/bin/env node
// Checks the version of Node before anything that an old one could not even parse.
require('./require-node.js')
require('./start.js')
