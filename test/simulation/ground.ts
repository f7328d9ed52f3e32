/** The ground of the servers of a run: a store that outlives them, and the other parts that each life of one needs. */
import type { KeyPair } from '../../src/lib/x509/issue.ts'
import type { StartOptions } from '../../src/public.d.ts'
import type { Machine, StartParts } from '../../src/server/start-parts.ts'
import type { Change, Revision } from '../../src/storage/store.ts'
import type { StoreView } from './database.ts'
import type { SimulatedServer } from './server.ts'
import type { Process } from './world.ts'

/** A write that the store has made, and the server that asked for it. */
export type MadeWrite = { readonly server: Process; readonly key: string; readonly change: Change; readonly revision: Revision }

export interface Ground {
  /** Certificates and keys beside the store. */
  readonly keys: Map<string, KeyPair>
  /** Called for every write, in the order of revisions. */
  readonly onWrite: Set<(write: MadeWrite) => void>
  /** Each says for how many milliseconds more than usual a write is on its way to the store, where that is far. */
  readonly delays: Set<(key: string, change: Change) => number>
  /** A server gives up a write that has had no answer for this time. */
  readonly giveUpMs: number
  /** The keys below a prefix. */
  stored(prefix: string): Promise<readonly string[]>
  /** Forgets history but for the newest revisions, even if servers still need it. */
  compact(keep: number): Promise<void>
  /** The store takes nothing more until so many keys have been deleted, or it is filled with none. */
  fill(deletions: number): void
  /** A life of a server begins. */
  begin(life: Process, of: { readonly number: number; readonly server: SimulatedServer }): Footing
}

/** The part of the ground that belongs to one life of a server. */
export type Footing = {
  /** The store, where it is the server's own view of one. */
  readonly view?: StoreView
  readonly options: Pick<StartOptions, 'store' | 'dataDir'>
  /** The parts of the server that are not the same for all; made in its process. */
  parts(): Promise<Pick<StartParts, 'store' | 'siblings'>>
  readonly machine?: Pick<Machine, 'store'>
  /** The server is killed. */
  crash(): void
}
