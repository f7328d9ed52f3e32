/** Conditions on the final state of a run that a user declares. */
import type { Client } from '../../client/client.ts'
import { isObject } from '../../lib/json-value.ts'
import { didYouMean } from '../../lib/nearest-name.ts'
import type { ExploreInvariant } from '../../public.d.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import { findKind } from '../object-reference.ts'
import { isNoise } from './change-log.ts'

type Check = { readonly takes: string; readonly fits: (value: unknown) => boolean }

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0
const text: Check = { takes: 'a text', fits: value => typeof value === 'string' && value !== '' }

const SELECTORS: Readonly<Record<string, Check>> = {
  kind: text,
  namespace: text,
  labels: { takes: 'a mapping of texts', fits: value => isObject(value) && Object.values(value).every(each => typeof each === 'string') },
}
const CONDITIONS: Readonly<Record<string, Check>> = {
  count: {
    takes: 'a whole number, or { min, max }',
    fits: value =>
      isCount(value) ||
      (isObject(value) &&
        Object.entries(value).length > 0 &&
        Object.entries(value).every(([key, each]) => /^(min|max)$/.test(key) && isCount(each))),
  },
  noOrphans: { takes: 'true', fits: value => value === true },
  noDuplicatesBy: text,
  condition: text,
}

/** A valid invariant. Throws TypeError, which names the field below `at`. */
export function readInvariant(value: unknown, at: string): ExploreInvariant {
  if (!isObject(value)) throw new TypeError(`${at} must be an object such as { kind: 'Secret', count: 0 }`)
  const known = { ...SELECTORS, ...CONDITIONS }
  for (const [name, part] of Object.entries(value)) {
    const check = Object.hasOwn(known, name) ? known[name] : undefined
    if (!check)
      throw new TypeError(`${at}.${name} is unknown${didYouMean(name, Object.keys(known), `; there are ${Object.keys(known).join(', ')}`)}`)
    if (!check.fits(part)) throw new TypeError(`${at}.${name} must be ${check.takes}, not ${JSON.stringify(part)}`)
  }
  const conditions = Object.keys(CONDITIONS).filter(name => Object.hasOwn(value, name))
  if (conditions.length !== 1) throw new TypeError(`${at} must have one of ${Object.keys(CONDITIONS).join(', ')}`)
  if (!Object.hasOwn(value, 'kind') && conditions[0] !== 'noOrphans') throw new TypeError(`${at}.kind is missing`)
  return value as ExploreInvariant
}

/** The problems of a final state. Throws TypeError for a kind that is not served. */
export function broken(invariant: ExploreInvariant, client: Client): string[] {
  const { kind, namespace, labels = {}, count, noOrphans, noDuplicatesBy, condition } = invariant
  const resources = kind === undefined ? [...client.resources()].filter(each => !isNoise(each)) : [findKind(client, kind)]
  const objects = resources
    .flatMap(resource => [...client.of(resource).list()])
    .filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace)
    .filter(({ metadata }) => Object.entries(labels).every(([key, value]) => metadata.labels?.[key] === value))
  const which = `${kind ?? 'objects'}${namespace === undefined ? '' : ` in ${namespace}`}`
  if (count !== undefined) {
    const { min = 0, max = Number.POSITIVE_INFINITY } = typeof count === 'number' ? { min: count, max: count } : count
    const bounds = typeof count === 'number' ? `${count}` : `${min} to ${max === Number.POSITIVE_INFINITY ? 'any number' : max}`
    return objects.length >= min && objects.length <= max ? [] : [`there are ${objects.length} ${which}, not ${bounds}`]
  }
  if (noOrphans) return orphans(objects, client)
  if (noDuplicatesBy !== undefined) return duplicates(objects, noDuplicatesBy)
  return objects.filter(object => !hasCondition(object, condition!)).map(object => `${nameOf(object)} has no condition ${condition}`)
}

function orphans(objects: readonly AnyObject[], client: Client): string[] {
  const uids = new Set([...client.resources()].flatMap(resource => Array.from(client.of(resource).list(), ({ metadata }) => metadata.uid)))
  return objects.flatMap(object =>
    (object.metadata.ownerReferences ?? [])
      .filter(({ uid }) => !uids.has(uid))
      .map(({ kind, name }) => `${nameOf(object)} is orphaned: its owner, ${kind} ${name}, is gone`),
  )
}

function duplicates(objects: readonly AnyObject[], field: string): string[] {
  const seen = new Map<string, AnyObject>()
  return objects.flatMap(object => {
    const value = field === 'owner' ? object.metadata.ownerReferences?.find(({ controller }) => controller)?.uid : valueAt(object, field)
    if (value === undefined) return []
    const key = `${object.metadata.namespace ?? ''} ${JSON.stringify(value)}`
    const other = seen.get(key)
    if (!other) seen.set(key, object)
    return other ? [`${nameOf(object)} is a duplicate of ${nameOf(other)}: both have the same ${field}`] : []
  })
}

const valueAt = (object: unknown, field: string): unknown =>
  field.split('.').reduce((value: unknown, name) => (isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined), object)

function hasCondition(object: AnyObject, wanted: string): boolean {
  const [type, status = 'True'] = wanted.split('=')
  const conditions = valueAt(object, 'status.conditions')
  return Array.isArray(conditions) && conditions.some(each => isObject(each) && each['type'] === type && each['status'] === status)
}

const nameOf = ({ kind, metadata: { namespace, name } }: AnyObject): string => `${kind} ${namespace ? `${namespace}/${name}` : name}`
