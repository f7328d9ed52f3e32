import { startGarbageCollector } from '../controllers/garbagecollector/controller.ts'
import { startNamespaceController } from '../controllers/namespace/controller.ts'
import { startPodGarbageCollector } from '../controllers/podgc/controller.ts'
import { type Protection, startProtection } from '../controllers/protection/controller.ts'
import { isClaimUsed, isClassUsed, isVolumeUsed } from '../controllers/protection/usage.ts'
import type { Catalog } from '../registry/catalog.ts'
import type { Resource } from '../schema/resource.ts'
import { type CONTROLLERS, type Config, runsController } from './config.ts'
import { CONTROLLER, clientFor, type Inner } from './inner.ts'

/** Starts those that are to run. What is there to be done at the start is done beside requests. */
export function startLifecycleControllers(config: Config, parts: Inner): void {
  const { catalog, log, signal } = parts
  const { groupDomain } = config
  const core = (plural: string) => catalog.find('', 'v1', plural)
  const [namespaces, pods, nodes, claims, volumes] = ['namespaces', 'pods', 'nodes', 'persistentvolumeclaims', 'persistentvolumes'].map(
    core,
  )
  const classes = catalog.find(`storage.${groupDomain}`, 'v1', 'volumeattributesclasses')
  const manager = 'kube-controller-manager'
  const api = clientFor(parts, { user: CONTROLLER, manager, groupDomain })
  const run = (name: (typeof CONTROLLERS)[number], start: (onError: (error: unknown) => void) => Promise<unknown>) => {
    if (!runsController(config, name)) return
    const onError = (error: unknown) => {
      if (!signal.aborted)
        log.warn({ controller: name, error: String(error) }, 'an object could not be brought up to date; it will be tried again')
    }
    start(onError).catch(onError)
  }
  if (namespaces && pods)
    run('namespace-controller', onError => startNamespaceController({ api, namespaces, pods, resources: catalog, onError, signal }))
  if (pods && nodes) run('pod-garbage-collector-controller', onError => startPodGarbageCollector({ api, pods, nodes, onError, signal }))
  run('garbage-collector-controller', onError =>
    startGarbageCollector({ api, resources: catalog, resourceOf: kindFinder(catalog), onError, signal }),
  )
  const protect = (name: (typeof CONTROLLERS)[number], more: Omit<Protection, 'api' | 'onError' | 'signal'>) =>
    run(name, onError => startProtection({ api, onError, signal, ...more }))
  if (claims && pods)
    protect('persistentvolumeclaim-protection-controller', {
      resource: claims,
      finalizer: 'kubernetes.io/pvc-protection',
      users: [pods],
      isUsed: claim => isClaimUsed(claim, api.list(pods, { namespace: claim.metadata.namespace ?? '' })),
    })
  if (volumes)
    protect('persistentvolume-protection-controller', {
      resource: volumes,
      finalizer: 'kubernetes.io/pv-protection',
      users: [],
      isUsed: isVolumeUsed,
    })
  if (classes && claims && volumes)
    protect('volumeattributesclass-protection-controller', {
      resource: classes,
      finalizer: 'kubernetes.io/vac-protection',
      users: [claims, volumes],
      isUsed: each => isClassUsed(each, api.list(volumes), api.list(claims)),
    })
}

/** Finds resources by kind. The table is made anew when what is served has changed. */
function kindFinder(catalog: Catalog): (apiVersion: string, kind: string) => Resource | undefined {
  let version = -1
  let table = new Map<string, Resource>()
  return (apiVersion, kind) => {
    if (version !== catalog.version) {
      version = catalog.version
      table = new Map(Array.from(catalog, resource => [`${resource.apiVersion} ${resource.kind}`, resource]))
    }
    return table.get(`${apiVersion} ${kind}`)
  }
}
