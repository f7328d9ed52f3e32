// Servers for Vitest tests: `import { useKeelson } from 'keelson/vitest'`.
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { fixtureFor } from '../dist/keelson.js'

export const useKeelson = fixtureFor({ beforeAll, afterAll, beforeEach, afterEach })
