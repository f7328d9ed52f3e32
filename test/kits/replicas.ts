/** Several servers of this process over one store, each with its own view of it. */
import type { StartOptions } from '../../src/public.d.ts'
import { startServer } from '../../src/server/start.ts'
import { configOf } from '../../src/start-options.ts'
import { MemoryStore } from '../../src/storage/memory.ts'
import { type Scope, type Target, targetOf } from '../kit.ts'
import { SharedView } from './shared-store.ts'

export type Replica = Target & { readonly view: SharedView; readonly store: MemoryStore; close(): Promise<void> }

/** Controllers that clients do not wait for are disabled by default. */
const QUIET: StartOptions = { controllers: ['none'], nodes: 0 }

export async function startReplicas(t: Scope, count: number, options: StartOptions = QUIET): Promise<Replica[]> {
  const store = new MemoryStore()
  const replicas: Replica[] = []
  for (let i = 0; i < count; i++) replicas.push(await startReplica(t, store, options))
  return replicas
}

export async function startReplica(t: Scope, store: MemoryStore, options: StartOptions = QUIET): Promise<Replica> {
  const view = new SharedView(store)
  const server = await startServer(configOf(options), { store: view })
  t.after(() => {
    view.mend()
    return server.close()
  })
  return { ...targetOf(server.kubeconfig), view, store, close: () => server.close() }
}
