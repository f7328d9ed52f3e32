// Servers for Jest tests: `const { useKeelson } = require('keelson/jest')`.
/* global afterAll, afterEach, beforeAll, beforeEach */
const { fixtureFor } = require('../dist/keelson.cjs')

exports.useKeelson = fixtureFor({ beforeAll, afterAll, beforeEach, afterEach })
