/** Drives a kind's declaration as the registry does, for tests of kinds. */

import { finish } from '../../../src/lib/step.ts'
import { Budget } from '../../../src/schema/budget.ts'
import { check as checkType } from '../../../src/schema/check.ts'
import type { Cell } from '../../../src/schema/columns.ts'
import { conform } from '../../../src/schema/conform.ts'
import { fillDefaults } from '../../../src/schema/defaults.ts'
import type { Kind } from '../../../src/schema/kind.ts'
import { validateFinalizerDomains, validateObjectMeta } from '../../../src/schema/meta-rules.ts'
import type { AnyObject } from '../../../src/schema/object-meta.ts'
import { gatherErrors, refTo } from '../../../src/schema/refs.ts'
import type { RequestContext } from '../../../src/schema/request-context.ts'
import { type Resource, resourceOf } from '../../../src/schema/resource.ts'
import type { UpdateSubresource } from '../../../src/schema/subresources.ts'
import type { MessageShape } from '../../../src/schema/types.ts'
import { isAlwaysOn } from '../../../src/server/feature-gates.ts'

/** The time of tests. */
export const NOW = new Date('2026-07-01T12:00:00Z')

/** A request of an administrator; all feature gates are off except the named ones. */
export function contextWith({ gates = [], ...more }: Partial<RequestContext> & { gates?: readonly string[] } = {}): RequestContext {
  return {
    user: { name: 'admin', groups: ['system:masters'] },
    now: NOW,
    groupDomain: 'k8s.io',
    budget: new Budget(),
    gate: name => isAlwaysOn(name) || gates.includes(name),
    ...more,
  }
}

/** A stored object as plain data: the input of tests, before `conform`. */
export type Draft = { readonly metadata?: object; readonly [field: string]: unknown }

/** The object after decoding and defaulting. */
export function withDefaults(kind: Kind<any>, draft: Draft, { gate }: RequestContext = contextWith()): any {
  const resource = resourceOf(kind, 'k8s.io')
  const object = conform(resource.type, structuredClone(complete(resource, draft)) as never).value
  fillDefaults(resource.type, object)
  kind.def.defaults?.(object, { now: NOW, groupDomain: 'k8s.io', gate })
  return object
}

/** The object that a create would store. */
export function created(kind: Kind<any>, draft: Draft, ctx: RequestContext = contextWith()): any {
  const object = withDefaults(kind, draft, ctx)
  if (kind.def.status && !kind.def.keepsStatusOnCreate) {
    object.status = conform(kind.def.status, {}).value
    fillDefaults(kind.def.status, object.status)
  }
  kind.def.prepareForCreate?.(object, ctx)
  return object
}

/** The object that an update of `old` would store. */
export function updated(kind: Kind<any>, draft: Draft, old: Draft, ctx: RequestContext = contextWith()): any {
  const [object, stored] = [withDefaults(kind, draft, ctx), withDefaults(kind, old, ctx)]
  if (kind.def.status) object.status = stored.status
  kind.def.prepareForUpdate?.(object, stored, ctx)
  return object
}

export type CheckOptions = { readonly old?: Draft; readonly ctx?: RequestContext }

/** All errors of a create, or of an update when `old` is given, as `path: message`. */
export function check(kind: Kind<any>, draft: Draft, { old, ctx = contextWith() }: CheckOptions = {}): string[] {
  const resource = resourceOf(kind, 'k8s.io')
  if (old) {
    const object = updated(kind, draft, old, ctx)
    return errorsOf(resource, object, { old: withDefaults(kind, old, ctx), ctx, rules: kind.def })
  }
  return errorsOf(resource, created(kind, draft, ctx), { ctx, rules: kind.def })
}

/** All errors of a write through a subresource. */
export function checkSubresource(kind: Kind<any>, name: string, sent: Draft, old: Draft, ctx: RequestContext = contextWith()): string[] {
  const { status, updates = {} } = kind.def.subresources ?? {}
  const update: UpdateSubresource<any> | undefined = name === 'status' ? status : updates[name]
  if (!update) throw new Error(`${kind.name} has no subresource ${name}`)
  const [object, stored] = [written(update, name, withDefaults(kind, sent), withDefaults(kind, old)), withDefaults(kind, old)]
  update.prepareForUpdate?.(object, stored, ctx)
  const { validate = kind.def.validate, validateUpdate = kind.def.validateUpdate } = update
  return errorsOf(resourceOf(kind, 'k8s.io'), object, {
    old: stored,
    ctx,
    rules: { validate, validateUpdate },
    ...(update.validate && { only: name }),
  })
}

/** The warnings of a create or an update. */
export function warnings(kind: Kind<any>, draft: Draft, { old, ctx = contextWith() }: CheckOptions = {}): string[] {
  return [...(kind.def.warn?.(withDefaults(kind, draft), old && withDefaults(kind, old), ctx) ?? [])]
}

/** The cells of an object's table row by column. */
export function cells(kind: Kind<any>, draft: Draft): Record<string, Cell> {
  const object = withDefaults(kind, draft)
  const columns = Object.entries(kind.def.columns ?? {})
  return Object.fromEntries(columns.map(([name, [, get]]) => [name, get(object, { now: NOW, budget: new Budget() })]))
}

function complete({ apiVersion, kind, namespaced }: Resource, { metadata, ...rest }: Draft) {
  return { apiVersion, kind, metadata: { name: 'x', ...(namespaced ? { namespace: 'default' } : {}), ...metadata }, ...rest }
}

function written(update: UpdateSubresource<any>, name: string, sent: any, stored: any): any {
  if (update.merge) return update.merge(sent, structuredClone(stored))
  return { ...structuredClone(stored), [name]: sent[name] }
}

type Rules = {
  readonly validate?: Kind['def']['validate'] | undefined
  readonly validateUpdate?: Kind['def']['validateUpdate'] | undefined
}

type Situation = { readonly old?: AnyObject; readonly ctx: RequestContext; readonly rules: Rules; readonly only?: string }

/** As in the registry: the rules of types apply to the whole object, or to the field of a subresource. */
function errorsOf(
  { type, ...resource }: Resource,
  object: AnyObject,
  { old, ctx, rules: { validate, validateUpdate }, only }: Situation,
): string[] {
  const at = refTo(object, '', type)
  const fields = Object.entries((type.shape as MessageShape).fields).filter(([name]) => only === undefined || name === only)
  const errors = finish(
    gatherErrors(
      () => validateObjectMeta(object.metadata, at.metadata, resource),
      () => (resource.def.unqualifiedFinalizers ? [] : validateFinalizerDomains(object.metadata.finalizers, at.metadata.finalizers)),
      () => (old ? validateUpdate?.(object, old, at, ctx) : []),
      ...fields.map(
        ([name, [, field]]) =>
          () =>
            checkType(field, object[name], at[name]!, old && { value: old[name] }),
      ),
      () => validate?.(object, at, old ? { ...ctx, old } : ctx),
    ),
  )
  return errors.map(({ field, message }) => `${field}: ${message}`)
}
