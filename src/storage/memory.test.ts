import { describeStore } from '../../test/kits/storage/conformance.ts'
import { MemoryStore } from './memory.ts'

describeStore('memory', { open: async (clock, options) => new MemoryStore({ clock, ...options }) })
