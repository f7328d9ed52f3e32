/** An informer over a server that is reached by HTTP: the informer of the server's own controllers, over a mirror. */
import { Informer as CoreInformer, type IndexDefinition } from '../client/informer.ts'
import { systemClock } from '../lib/clock.ts'
import { Mirror, mirrorKey } from './mirror.ts'
import type { ApiObject, Index, Informer, InformerOptions, ResourceClient } from './public.d.ts'
import { RemoteResource } from './resource-client.ts'

export function informer<T extends ApiObject>(client: ResourceClient<T>, options: InformerOptions): Informer<T> {
  if (!(client instanceof RemoteResource)) throw new TypeError('an informer needs a resource of connect(…).of(…)')
  const { onError, resyncMs, namespace, labelSelector, fieldSelector } = options
  const signal = options.signal as AbortSignal
  const selection = {
    ...(namespace !== undefined && { namespace }),
    ...(labelSelector !== undefined && { labelSelector }),
    ...(fieldSelector !== undefined && { fieldSelector }),
  }
  const mirror: Mirror<T> = new Mirror({ client, selection, signal, onError, onChange: change => core.apply(change) })
  const core = new CoreInformer<T>(mirror)
  const synced = new Promise<void>(resolve => {
    void mirror.follow(resolve).then(resolve)
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
  if (resyncMs !== undefined) repeatEvery(resyncMs, () => core.refresh(), signal)
  const indexes = new Map<string, IndexDefinition<T>>()
  return {
    synced,
    onChange(handler) {
      void core.watch(({ type, current, previous }) => {
        try {
          handler({ type, object: current.object!, previous: previous?.object })
        } catch (error) {
          // One handler must not keep others from the change.
          onError(error)
        }
      }, signal)
    },
    get: ({ namespace = '', name = '' }) => mirror.get(mirrorKey(namespace, name))?.object,
    list: ({ namespace } = {}) =>
      [...mirror.list()].filter(each => namespace === undefined || each.namespace === namespace).map(({ object }) => object!),
    saw: object => mirror.saw(object),
    byIndex: (index, value) => [...core.byIndex(definitionOf(index, indexes), value)].map(({ object }) => object!),
  }
}

/** An index by the uid of each owner. */
export const OWNER_INDEX: Index<ApiObject> = {
  name: 'owner',
  valuesOf: ({ metadata }) => (metadata.ownerReferences ?? []).map(({ uid }) => uid),
}

function definitionOf<T>(index: Index<T>, known: Map<string, IndexDefinition<T>>): IndexDefinition<T> {
  let definition = known.get(index.name)
  if (!definition) known.set(index.name, (definition = { name: index.name, valuesOf: ({ object }) => index.valuesOf(object!) }))
  return definition
}

function repeatEvery(ms: number, run: () => void, signal: AbortSignal): void {
  let cancel = () => {}
  const wait = () => {
    cancel = systemClock.after(ms, () => {
      run()
      wait()
    })
  }
  wait()
  signal.addEventListener('abort', () => cancel(), { once: true })
}
