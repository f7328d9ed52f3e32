/** The type of hostile requests, and builders for them. */
import { CONFIG_MAPS } from '../kit.ts'

export type HostileRequest = {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly type?: string
  readonly body?: string | Uint8Array
  readonly headers?: Record<string, string>
  /** The required status, if it matters; otherwise anything but a 5xx. */
  readonly status?: number
  /** It is validated in a worker, and may take longer there. */
  readonly inWorker?: true
  /** About how many values it holds, where that is more than any object but a definition or a custom one may hold. */
  readonly values?: number
  /** The kind that is served after it was accepted: later requests need it. */
  readonly serves?: string
}

export const YAML = 'application/yaml'
export const PROTOBUF = 'application/vnd.kubernetes.protobuf'
export const JSON_PATCH = 'application/json-patch+json'
export const MERGE_PATCH = 'application/merge-patch+json'
export const STRATEGIC = 'application/strategic-merge-patch+json'
export const APPLY = 'application/apply-patch+yaml'
export const PODS = '/api/v1/namespaces/default/pods'

export const times = (n: number, text: string) => text.repeat(n)
/** A mapping from `n` keys to one value. */
export function keys(n: number, value: unknown = 'v'): Readonly<Record<string, unknown>> {
  const name = `${n} ${JSON.stringify(value)}`
  const made = mappings.get(name) ?? entries(n, i => [`k${i}`, value])
  mappings.set(name, made)
  return made
}
/** Those that were made, since the same are in many bodies. */
const mappings = new Map<string, Readonly<Record<string, unknown>>>()
/** A mapping with `n` entries. */
export const entries = (n: number, entry: (i: number) => readonly [string, unknown]) =>
  Object.fromEntries(Array.from({ length: n }, (_, i) => entry(i)))
export const list = <T>(n: number, item: (i: number) => T): T[] => Array.from({ length: n }, (_, i) => item(i))
export const configMap = (name: string, more: object, metadata: object = {}) =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...metadata }, ...more })
export const pod = (spec: object) =>
  JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: { containers: [{ name: 'a', image: 'b' }], ...spec } })
export const create = (name: string, body: string | Uint8Array, type = 'application/json', path = CONFIG_MAPS): HostileRequest => ({
  name,
  method: 'POST',
  path,
  type,
  body,
})
export const change = (name: string, type: string, body: string, path = `${CONFIG_MAPS}/held`): HostileRequest => ({
  name,
  method: 'PATCH',
  path,
  type,
  body,
})

export const read = (name: string, path: string, accept?: string): HostileRequest => ({
  name,
  method: 'GET',
  path,
  ...(accept && { headers: { accept } }),
})
export const definition = (name: string, version: object) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${name}s.hostile.example.com` },
  spec: {
    group: 'hostile.example.com',
    scope: 'Namespaced',
    names: { kind: name[0]!.toUpperCase() + name.slice(1), plural: `${name}s` },
    versions: [{ name: 'v1', served: true, storage: true, ...version }],
  },
})

export const schema = (spec: object) => ({ schema: { openAPIV3Schema: { type: 'object', properties: { spec } } } })

export const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
