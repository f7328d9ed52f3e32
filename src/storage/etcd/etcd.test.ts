import { test } from 'node:test'
import { type EtcdCluster, startEtcd } from '../../../test/kits/etcd.ts'
import { describeStore } from '../../../test/kits/storage/conformance.ts'
import { plainFormat } from '../../../test/kits/storage/plain-format.ts'
import { noteNotRun, programsNamed } from '../../../test/programs.ts'
import type { Store } from '../store.ts'
import { openEtcdStore } from './etcd.ts'

const clusters = new WeakMap<Store, EtcdCluster>()

/** A store on a new cluster, which ends with it. */
async function openOn(program: string, members: number): Promise<Store> {
  const cluster = await startEtcd({ program, members })
  return openIn(cluster)
}

async function openIn(cluster: EtcdCluster): Promise<Store> {
  const store = await openEtcdStore({ endpoints: cluster.endpoints, prefix: '/registry', format: plainFormat })
  const closing = store.close.bind(store)
  store.close = async () => {
    await closing()
    if (clusters.get(store) === cluster) await cluster[Symbol.asyncDispose]()
  }
  clusters.set(store, cluster)
  return store
}

const [program] = programsNamed('etcd')
if (program === undefined) {
  test('the store on etcd', { skip: noteNotRun('etcd', 'the conformance of the store on etcd') })
} else {
  for (const members of [1, 3]) {
    describeStore(`etcd (${members === 1 ? 'one member' : `${members} members`})`, {
      open: () => openOn(program, members),
      async reopen(store) {
        const cluster = clusters.get(store)!
        clusters.delete(store)
        await store.close()
        return openIn(cluster)
      },
      remote: true,
      runs: members === 1 ? 40 : 10,
    })
  }
}
