/** A perturbation: one thing that goes wrong in a run, at a point that later runs reach as well. Its id is a text that a command takes. */
import type { PerturbationKind } from '../../public.d.ts'

/** A write of the program: the n-th one of this kind about this object. */
export type WritePoint = {
  readonly verb: string
  /** `deployments.apps`, or `deployments.apps:status` with a subresource. */
  readonly resource: string
  readonly namespace: string
  /** Generated names end with a star; empty for a collection. */
  readonly name: string
  readonly ordinal: number
}

/** A change of an object: the n-th one of its name. */
export type ChangePoint = {
  readonly resource: string
  readonly namespace: string
  readonly name: string
  /** `added`, `deleted`, `marked` for deletion, or a hash of the content that it got. */
  readonly change: string
  readonly ordinal: number
}

export type Perturbation =
  | { readonly kind: 'intermediate' | 'conflict'; readonly at: WritePoint }
  | { readonly kind: 'timeout'; readonly at: WritePoint; readonly isMade: boolean }
  | { readonly kind: 'unobserved'; readonly from: ChangePoint; readonly to: ChangePoint }
  | { readonly kind: 'stale'; readonly from: ChangePoint }

export const PERTURBATION_KINDS: readonly PerturbationKind[] = ['stale', 'unobserved', 'intermediate', 'conflict', 'timeout']

/** A point as one text, equal for equal points. */
export const writeKey = ({ verb, resource, namespace, name, ordinal }: WritePoint): string =>
  joined([verb, resource, namespace, name, String(ordinal)])
export const changeKey = ({ resource, namespace, name, change, ordinal }: ChangePoint): string =>
  joined([resource, namespace, name, `${change}.${ordinal}`])

const joined = (parts: readonly string[]): string => parts.map(part => (part === '' ? '-' : encodeURIComponent(part))).join('/')

/** `intermediate/create/secrets/default/a/1`, `unobserved/secrets/default/a/added.1/deleted.1`. */
export function idOf(perturbation: Perturbation): string {
  switch (perturbation.kind) {
    case 'intermediate':
    case 'conflict':
      return `${perturbation.kind}/${writeKey(perturbation.at)}`
    case 'timeout':
      return `${perturbation.isMade ? 'timeout-made' : 'timeout-unmade'}/${writeKey(perturbation.at)}`
    case 'unobserved':
      return `unobserved/${changeKey(perturbation.from)}/${perturbation.to.change}.${perturbation.to.ordinal}`
    case 'stale':
      return `stale/${changeKey(perturbation.from)}`
  }
}

/** The perturbation that an id names; undefined for a text that is none. */
export function perturbationOf(id: string): Perturbation | undefined {
  const [kind = '', ...rest] = id.split('/')
  const parts = rest.map(part => (part === '-' ? '' : decoded(part)))
  switch (kind) {
    case 'intermediate':
    case 'conflict': {
      const at = writePointOf(parts)
      return at && { kind, at }
    }
    case 'timeout-made':
    case 'timeout-unmade': {
      const at = writePointOf(parts)
      return at && { kind: 'timeout', at, isMade: kind === 'timeout-made' }
    }
    case 'unobserved': {
      const [from, to] = [changePointOf(parts.slice(0, 4)), changePointOf([...parts.slice(0, 3), ...parts.slice(4)])]
      return from && to && { kind, from, to }
    }
    case 'stale': {
      const from = changePointOf(parts)
      return from && { kind, from }
    }
    default:
      return undefined
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

function writePointOf(parts: readonly string[]): WritePoint | undefined {
  const [verb = '', resource = '', namespace = '', name = '', count = ''] = parts
  if (parts.length !== 5 || verb === '' || resource === '' || !/^[1-9]\d{0,8}$/.test(count)) return undefined
  return { verb, resource, namespace, name, ordinal: Number(count) }
}

function changePointOf(parts: readonly string[]): ChangePoint | undefined {
  const [resource = '', namespace = '', name = '', last = ''] = parts
  const [, change, count] = /^([a-z0-9]+)\.([1-9]\d{0,8})$/.exec(last) ?? []
  if (parts.length !== 4 || resource === '' || name === '' || change === undefined) return undefined
  return { resource, namespace, name, change, ordinal: Number(count) }
}

/** A perturbation in words. */
export function describe(perturbation: Perturbation): string {
  switch (perturbation.kind) {
    case 'intermediate':
      return `the program is killed right after its write: ${writeText(perturbation.at)}`
    case 'conflict':
      return `a conflict: 409 in answer to ${writeText(perturbation.at)}`
    case 'timeout':
      return `a timeout: 504 in answer to ${writeText(perturbation.at)}, and the write is ${perturbation.isMade ? 'made' : 'not made'}`
    case 'unobserved':
      return `the program does not see that ${changeText(perturbation.from)}, until ${changeText(perturbation.to)}`
    case 'stale':
      return `the program is restarted and reads an older state, in which ${changeText(perturbation.from)}`
  }
}

const objectText = (resource: string, namespace: string, name: string): string =>
  [resource, namespace === '' ? name : `${namespace}/${name}`].filter(Boolean).join(' ')

export const writeText = ({ verb, resource, namespace, name, ordinal }: WritePoint): string =>
  `${verb} ${objectText(resource, namespace, name)}${ordinal > 1 ? ` (${ordinal}.)` : ''}`

function changeText({ resource, namespace, name, change, ordinal }: ChangePoint): string {
  const object = objectText(resource, namespace, name)
  const which = ordinal > 1 ? ` (${ordinal}.)` : ''
  if (change === 'added') return `${object} was created${which}`
  if (change === 'deleted') return `${object} was deleted${which}`
  if (change === 'marked') return `the deletion of ${object} has begun${which}`
  return `${object} has been changed (${change})${which}`
}
