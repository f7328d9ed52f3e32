// Servers for node:test tests: `import { useKeelson } from 'keelson/node-test'`.
import { after, afterEach, before, beforeEach } from 'node:test'
import { fixtureFor } from '../dist/keelson.js'

export const useKeelson = fixtureFor({ beforeAll: before, afterAll: after, beforeEach, afterEach })
