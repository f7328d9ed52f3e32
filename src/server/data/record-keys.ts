/** Finds the keys of records by the names that people use for them. */

import { keyOf, type Resource, recordsPath } from '../../schema/resource.ts'
import type { RecordFormat } from '../../storage/etcd/record-format.ts'
import { ConfigError } from '../config.ts'

/** A key, or the beginning of some. */
export type KeySelector = { readonly key: string } | { readonly prefix: string }

export type KeyParts = {
  /** Every kind in its stored version. */
  readonly resources: readonly Resource[]
  readonly format: RecordFormat
  /** The prefix of keys in etcd, `/registry`. */
  readonly etcdPrefix: string
}

/**
 * The key or prefix that a text names:
 *
 *     /registry/pods/default/a   the key in etcd
 *     /core/pods/default/a       the key in an embedded store
 *     pod/default/a              plural, singular or short name or kind, with its group if necessary; namespace, name
 *     node/a                     without a namespace where the kind has none
 *     widgets.example.com/x/a    a custom kind by plural and group
 *     pods, pods/default, /core/ all that begin so
 *
 * Throws ConfigError.
 */
export function keySelectorOf(text: string, parts: KeyParts): KeySelector {
  if (text.startsWith('/')) return selectorOfKey(text, parts)
  const [named = '', ...path] = text.replace(/\/$/, '').split('/')
  const resource = resourceNamed(named, parts.resources)
  const prefix = resource?.prefix ?? customPrefix(named)
  if (prefix === undefined)
    throw new ConfigError(
      `there is no kind "${named}"; write a key (/registry/pods/default/a), pods/NAMESPACE/NAME, or plural and group of a custom kind: widgets.example.com/NAMESPACE/NAME`,
    )
  // Whether a custom kind has namespaces is not known here: its objects are found either way.
  const isWhole = resource ? path.length === (resource.namespaced ? 2 : 1) : path.length === 2 && !text.endsWith('/')
  const most = resource && !resource.namespaced ? 1 : 2
  if (path.length > most || path.includes('')) throw new ConfigError(`"${text}" has too many parts: KIND/NAMESPACE/NAME, or KIND/NAME`)
  if (!isWhole) return { prefix: path.length === 0 ? prefix : `${prefix}${path.join('/')}${resource ? '/' : ''}` }
  if (!resource) return { key: `${prefix}${path.join('/')}` }
  return { key: resource.namespaced ? keyOf(resource, path[0]!, path[1]!) : keyOf(resource, '', path[0]!) }
}

function selectorOfKey(text: string, { resources, format, etcdPrefix }: KeyParts): KeySelector {
  const isInEtcd = text.startsWith(`${etcdPrefix}/`)
  if (!isInEtcd) return text.endsWith('/') ? { prefix: text } : { key: text }
  const place = text.slice(etcdPrefix.length)
  const key = place.endsWith('/') ? undefined : format.keyAt(place)
  if (key !== undefined) return { key }
  if (place === '/') return { prefix: '/' }
  const bases = resources.map(resource => [recordsPath(resource), resource.prefix] as const)
  const [base, prefix] = bases.find(([base]) => `${place}/`.startsWith(base) || place.startsWith(base)) ?? []
  return { prefix: base === undefined ? place : prefix! + place.slice(base.length) }
}

/** The resource that a text names. The core group comes first. */
function resourceNamed(text: string, resources: readonly Resource[]): Resource | undefined {
  const [name = '', ...group] = text.toLowerCase().split('.')
  const isNamed = ({ plural, kind, def }: Resource) =>
    [plural, def.names.singular ?? '', kind.toLowerCase(), ...(def.names.short ?? [])].includes(name)
  const isOfGroup = (resource: Resource) =>
    group.length === 0 || resource.group === group.join('.') || resource.group.split('.')[0] === group.join('.')
  return resources.find(resource => isNamed(resource) && isOfGroup(resource))
}

function customPrefix(text: string): string | undefined {
  const [plural, ...group] = text.split('.')
  return group.length > 1 ? `/${group.join('.')}/${plural}/` : undefined
}
