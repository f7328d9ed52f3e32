/** Keeps one object of a name in every active namespace as it should be. What that is, is the caller's to say. */
import type { AnyObject } from '../../schema/object-meta.ts'
import type { Resource } from '../../schema/resource.ts'
import { StatusError } from '../../schema/status-error.ts'
import { Loop } from '../loop.ts'

/** What such a controller asks of the API. Reads hold all that this controller has written. */
export interface Api {
  get(resource: Resource, name: { readonly namespace?: string; readonly name: string }): AnyObject | undefined
  list(resource: Resource): Iterable<AnyObject>
  /** Calls back with every change, and without one when changes may have been missed. Only for objects of a name, if one is given. */
  follow(
    resource: Resource,
    onChange: (change?: { object(): AnyObject }) => void,
    signal: AbortSignal,
    some?: { readonly name: string },
  ): void
  create(resource: Resource, object: object, namespace: string): Promise<boolean>
  patch(
    resource: Resource,
    name: { readonly namespace: string; readonly name: string },
    patch: object,
    how: { readonly type: string },
  ): Promise<boolean>
}

/** What an object needs: to be made, or to be changed by a merge patch. */
export type Step = { readonly step: 'create'; readonly object: object } | { readonly step: 'patch'; readonly patch: object }

export type EveryNamespace = {
  readonly api: Api
  readonly namespaces: Resource
  readonly resource: Resource
  /** The name of the object in every namespace. */
  readonly name: string
  /** What is next, given the object there is; undefined when it is as it should be. */
  readonly nextStep: (stored: AnyObject | undefined) => Step | undefined
  readonly onError: (error: unknown) => void
  readonly signal: AbortSignal
}

const AT_ONCE = 16

/** Starts the controller; the result settles when all that was known at the call has been dealt with. */
export async function startEveryNamespace(parts: EveryNamespace): Promise<void> {
  const { api, namespaces, resource, name, onError, signal } = parts
  const loop = new Loop<string>({ settle: namespace => settle(parts, namespace), onError, signal, atOnce: AT_ONCE })
  const wakeAll = () => loop.wakeAll(Array.from(api.list(namespaces), ({ metadata }) => metadata.name!))
  api.follow(namespaces, change => void (change ? loop.wake(change.object().metadata.name!) : wakeAll()), signal)
  api.follow(resource, change => void (change ? loop.wake(change.object().metadata.namespace!) : wakeAll()), signal, { name })
  await wakeAll()
}

async function settle({ api, namespaces, resource, name, nextStep }: EveryNamespace, namespace: string): Promise<void> {
  const found = api.get(namespaces, { name: namespace })
  if (found?.['status'].phase !== 'Active' || found.metadata.deletionTimestamp) return
  const step = nextStep(api.get(resource, { namespace, name }))
  if (!step) return
  try {
    if (step.step === 'create') await api.create(resource, step.object, namespace)
    else await api.patch(resource, { namespace, name }, step.patch, { type: 'application/merge-patch+json' })
  } catch (error) {
    // The namespace is going, or gone: nothing is to be made there any more.
    const isGoing = error instanceof StatusError && (error.code === 404 || error.details?.causes?.[0]?.reason === 'NamespaceTerminating')
    if (!isGoing) throw error
  }
}
