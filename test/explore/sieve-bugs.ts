/**
 * Bugs that Sieve has found in operators, each as a controller of few lines with the mistake and without it, and a workload that gives it
 * the occasion. A ConfigMap stands for the custom resource, or for an object whose own rules do not matter.
 */
import { ApiError, type RunningServer, type StoredObject, type UserAccess } from '../../src/index.ts'
import { type Caches, type ControllerParts, runController } from './small-controller.ts'

export type Bug = {
  /** The issue in which it was reported. */
  readonly issue: string
  readonly kind: 'stale' | 'unobserved' | 'intermediate'
  /** A part of the problem that has to be reported. */
  readonly problem: RegExp
  readonly workload: (server: RunningServer) => Promise<unknown>
  readonly controller: (isFixed: boolean) => (access: UserAccess, signal: AbortSignal) => Promise<void>
}

const FINALIZER = 'example.com/cleanup'
const of = { namespace: 'default' }

const configMap = (name: string, role: string, data: Record<string, string> = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default', labels: { role } },
  data,
})
const claim = (name: string, labels: Record<string, string>) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name, namespace: 'default', labels },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
})
const pod = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default' },
  // It is bound to a node, so that its deletion takes until that node has stopped it; the workload plays the node.
  spec: { nodeName: 'a-node', containers: [{ name: 'main', image: 'main' }] },
})

/** Ignores answers that say that there is nothing to do. */
const unless =
  (...codes: number[]) =>
  (error: unknown) => {
    if (!(error instanceof ApiError && codes.includes(error.status))) throw error
  }
const clusters = ({ configmaps }: Caches) => [...configmaps.values()].filter(({ metadata }) => metadata['labels']?.role === 'cluster')
const isMarked = ({ metadata }: StoredObject) => metadata['deletionTimestamp'] !== undefined
const asController = (parts: (access: UserAccess) => ControllerParts) => (access: UserAccess, signal: AbortSignal) =>
  runController(access, signal, parts(access))

/** Deletes the claim of an owner: by its name alone, or only the one that was made for this owner. */
async function deleteClaim(access: UserAccess, name: string, { caches, uid }: { caches: Caches; uid: string | undefined }) {
  if (uid === undefined) return access.delete(`persistentvolumeclaim/${name}`, of).catch(unless(404))
  const found = caches.persistentvolumeclaims.get(name)
  if (found?.metadata['labels']?.owner !== uid) return
  await access.delete(`persistentvolumeclaim/${name}`, { ...of, preconditions: { uid: found.metadata.uid } }).catch(unless(404, 409))
}

/** The correct answer to a deletion that the program sees, and the creation of a claim; `isFixed` tells owners of one name apart. */
const clusterWithClaim = (isFixed: boolean) =>
  asController(access => ({
    watches: ['configmaps', 'persistentvolumeclaims'],
    async reconcile(caches) {
      for (const { metadata } of clusters(caches).filter(isMarked)) {
        await deleteClaim(access, `data-${metadata.name}`, { caches, uid: isFixed ? metadata.uid : undefined })
        const patch = { metadata: { ...(isFixed && { uid: metadata.uid }), finalizers: null } }
        await access.patch(`configmap/${metadata.name}`, patch, of).catch(unless(404, 409))
      }
      for (const cluster of clusters(caches).filter(each => !isMarked(each))) {
        const { name, uid } = cluster.metadata
        if (!cluster.metadata['finalizers']?.length)
          await access.patch(`configmap/${name}`, { metadata: { uid, finalizers: [FINALIZER] } }, of)
        await access.create(claim(`data-${name}`, { owner: uid })).catch(unless(409))
      }
    },
  }))

const deletedAndCreatedAgain = async (server: RunningServer) => {
  for (const round of [1, 2]) {
    await server.create(configMap('zk', 'cluster'))
    await server.waitFor('persistentvolumeclaim/data-zk')
    if (round === 2) return
    await server.delete('configmap/zk', of)
    await server.waitFor('configmap/zk', 'deleted')
  }
}

/** A claim for each pod, which is deleted with it. */
const podsWithClaims = ({ comparesUids, comparesStates }: { comparesUids: boolean; comparesStates: boolean }) =>
  asController(access => {
    const ending = new Map<string, string>()
    return {
      watches: ['pods', 'persistentvolumeclaims'],
      onEvent(plural, { type, object }) {
        if (plural === 'pods' && type === 'MODIFIED' && isMarked(object)) ending.set(object.metadata.name, object.metadata.uid)
      },
      async reconcile(caches) {
        for (const each of [...caches.pods.values()].filter(isMarked)) ending.set(each.metadata.name, each.metadata.uid)
        for (const [name, uid] of ending) {
          await deleteClaim(access, `data-${name}`, { caches, uid: comparesUids ? uid : undefined })
          ending.delete(name)
        }
        for (const { metadata } of [...caches.pods.values()].filter(each => !isMarked(each)))
          await access.create(claim(`data-${metadata.name}`, { owner: metadata.uid })).catch(unless(409))
        if (!comparesStates) return
        for (const { metadata } of caches.persistentvolumeclaims.values())
          if (!caches.pods.has(metadata.name.slice('data-'.length)))
            await access.delete(`persistentvolumeclaim/${metadata.name}`, of).catch(unless(404))
      },
    }
  })

export const BUGS: readonly Bug[] = [
  {
    issue: 'pravega/zookeeper-operator#312: the claim of a new cluster is deleted because of the deletion of its predecessor',
    kind: 'stale',
    problem: /persistentvolumeclaims default\/data-zk was deleted by the program 2 times, not once/,
    workload: deletedAndCreatedAgain,
    controller: clusterWithClaim,
  },
  {
    issue: 'pravega/zookeeper-operator#314: a claim is deleted because the cluster was once smaller',
    kind: 'stale',
    problem: /persistentvolumeclaims default\/data-1 was deleted by the program 2 times, not once/,
    async workload(server) {
      await server.create(configMap('zk', 'cluster', { replicas: '2' }))
      await server.waitFor('persistentvolumeclaim/data-1')
      await server.patch('configmap/zk', { data: { replicas: '1' } }, of)
      await server.waitFor('persistentvolumeclaim/data-1', 'deleted')
      await server.patch('configmap/zk', { data: { replicas: '2' } }, of)
      await server.waitFor('persistentvolumeclaim/data-1')
    },
    controller: isFixed =>
      asController(access => ({
        watches: ['configmaps', 'persistentvolumeclaims'],
        async reconcile(caches) {
          for (const { metadata, ['data']: data } of clusters(caches)) {
            const replicas = Number(data['replicas'])
            for (let i = 0; i < replicas; i++) await access.create(claim(`data-${i}`, {})).catch(unless(409))
            for (const name of [...caches.persistentvolumeclaims.keys()].filter(each => Number(each.slice('data-'.length)) >= replicas)) {
              // A read without a resourceVersion shows the newest state, whichever server answers it.
              const current = isFixed ? await access.get(`configmap/${metadata.name}`, of) : undefined
              if (current && current['data'].replicas !== data['replicas']) continue
              await access.delete(`persistentvolumeclaim/${name}`, of).catch(unless(404))
            }
          }
        },
      })),
  },
  {
    issue: 'instaclustr/cassandra-operator#407: the claim of a pod is deleted because of the deletion of its predecessor',
    kind: 'stale',
    problem: /persistentvolumeclaims default\/data-ca-1 was deleted by the program 2 times, not once/,
    async workload(server) {
      for (const round of [1, 2]) {
        await server.create(pod('ca-1'))
        await server.waitFor('persistentvolumeclaim/data-ca-1')
        if (round === 2) return
        await server.delete('pod/ca-1', of)
        await server.waitFor('persistentvolumeclaim/data-ca-1', 'deleted')
        await server.delete('pod/ca-1', { ...of, gracePeriodSeconds: 0 })
      }
    },
    controller: isFixed => podsWithClaims({ comparesUids: isFixed, comparesStates: false }),
  },
  {
    issue: 'instaclustr/cassandra-operator#398: the claim of a pod stays when the beginning of its deletion is not seen',
    kind: 'unobserved',
    problem: /PersistentVolumeClaim default\/data-ca-1 is left over/,
    async workload(server) {
      await server.create(pod('ca-1'))
      await server.waitFor('persistentvolumeclaim/data-ca-1')
      await server.delete('pod/ca-1', of)
      await server.delete('pod/ca-1', { ...of, gracePeriodSeconds: 0 })
    },
    controller: isFixed => podsWithClaims({ comparesUids: false, comparesStates: isFixed }),
  },
  {
    issue: 'rabbitmq/cluster-operator#782: a volume is never expanded when the operator ends after it has deleted the StatefulSet',
    kind: 'intermediate',
    problem: /ConfigMap default\/volume: data.size is "10Gi", not "15Gi"/,
    async workload(server) {
      await server.create(configMap('volume', 'volume', { size: '10Gi' }))
      await server.create(configMap('rabbit', 'cluster', { size: '10Gi' }))
      await server.waitFor('configmap/set')
      await server.patch('configmap/rabbit', { data: { size: '15Gi' } }, of)
    },
    controller: isFixed =>
      asController(access => ({
        watches: ['configmaps'],
        async reconcile({ configmaps }) {
          const size = configmaps.get('rabbit')?.['data'].size
          if (size === undefined) return
          const set = configmaps.get('set')
          const resize = () => access.patch('configmap/volume', { data: { size } }, of)
          if (set && set['data'].size !== size) {
            await access.delete('configmap/set', of).catch(unless(404))
            if (!isFixed) await resize()
          }
          // The fixed one looks at the volume itself, not at the object that was made with it.
          if (isFixed && configmaps.get('volume')?.['data'].size !== size) await resize()
          if (!set || set['data'].size !== size) await access.create(configMap('set', 'set', { size })).catch(unless(409))
        },
      })),
  },
]

/** A controller that survives every perturbation, and a workload for it. */
export const CORRECT = { workload: deletedAndCreatedAgain, program: clusterWithClaim(true) }
