/** LimitRanger: the limit ranges of a namespace fill in what pods leave open, and bound what pods and claims may ask for. */
import { containerTotals } from '../../kinds/rules/pod/resources/level-resources.ts'
import type { PodSpec } from '../../kinds/rules/pod/spec.ts'
import { getOwn, setOwn } from '../../lib/json-value.ts'
import { compareQuantity, integerValue, milliValue, parseQuantity, type Quantity } from '../../lib/quantity.ts'
import type { Budget } from '../../schema/budget.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import type { Attributes } from '../attributes.ts'
import type { Plugin } from '../plugin.ts'
import type { Reader } from '../reader.ts'
import { forbidden } from '../refusal.ts'

const LIMIT_RANGES = { group: '', version: 'v1', plural: 'limitranges' }
const ANNOTATION = 'kubernetes.io/limit-ranger'

type Amounts = Readonly<Record<string, string>>
type Item = {
  readonly type: string
  readonly max?: Amounts
  readonly min?: Amounts
  readonly default?: Amounts
  readonly defaultRequest?: Amounts
  readonly maxLimitRequestRatio?: Amounts
}
type Resources = { requests?: Record<string, string>; limits?: Record<string, string> }
type Limited = { readonly name?: string; resources?: Resources }

export function limitRanger(reader: Reader): Plugin {
  const rangesFor = ({ namespace }: Attributes): readonly (readonly Item[])[] =>
    reader.list(LIMIT_RANGES, namespace).map(range => (range['spec']?.limits ?? []) as readonly Item[])
  return {
    name: 'LimitRanger',
    plurals: ['pods', 'persistentvolumeclaims'],
    mutate(attributes) {
      if (limitedKind(attributes) !== 'pods') return
      for (const items of rangesFor(attributes)) fillPod(attributes.object!, items, attributes.ctx.budget)
    },
    validate(attributes) {
      const kind = limitedKind(attributes)
      if (!kind) return
      const { object } = attributes
      for (const items of rangesFor(attributes)) {
        const faults =
          kind === 'pods' ? podFaults(object!['spec'], items, attributes) : claimFaults(object!['spec']?.resources ?? {}, items)
        const all = [...new Set(faults)]
        if (all.length > 0) throw forbidden(attributes, all.length === 1 ? all[0]! : `[${all.join(', ')}]`)
      }
    },
  }
}

/** Pods when they are created or resized, and claims; not objects that are being deleted anyway. */
function limitedKind({ operation, resource, subresource, oldObject }: Attributes): 'pods' | 'persistentvolumeclaims' | undefined {
  if ((operation !== 'CREATE' && operation !== 'UPDATE') || resource.group !== '' || oldObject?.metadata.deletionTimestamp) return undefined
  const isResize = subresource === 'resize' && operation === 'UPDATE'
  if (resource.plural === 'pods') return isResize || (subresource === '' && operation === 'CREATE') ? 'pods' : undefined
  return resource.plural === 'persistentvolumeclaims' && subresource === '' ? 'persistentvolumeclaims' : undefined
}

/** A default that is added has to be owned, validated and stored like one that was sent: of both together there may be about as many. */
const WORK_PER_DEFAULT = 100
/** To compare an amount with a bound. */
const WORK_PER_BOUND = 10

const containerCount = ({ containers, initContainers }: PodSpec): number => (containers?.length ?? 0) + (initContainers?.length ?? 0)

/** Sets the defaults for containers, and an annotation that says which. A large range times a large pod would be more than can be stored. */
function fillPod(pod: AnyObject, items: readonly Item[], budget: Budget): void {
  const spec = pod['spec'] as PodSpec
  const ofContainers = items.filter(({ type }) => type === 'Container')
  const limits = Object.assign({}, ...ofContainers.map(item => item.default)) as Amounts
  const requests = Object.assign({}, ...ofContainers.map(item => item.defaultRequest)) as Amounts
  budget.charge(containerCount(spec) * (Object.keys(limits).length + Object.keys(requests).length) * WORK_PER_DEFAULT)
  const defaulted = [
    ...(spec.containers ?? []).flatMap(container => fillContainer(container as Limited, { limits, requests }, 'container')),
    ...(spec.initContainers ?? []).flatMap(container => fillContainer(container as Limited, { limits, requests }, 'init container')),
  ]
  if (defaulted.length > 0) setOwn((pod.metadata.annotations ??= {}), ANNOTATION, `LimitRanger plugin set: ${defaulted.join('; ')}`)
}

function fillContainer(container: Limited, defaults: { limits: Amounts; requests: Amounts }, what: string): string[] {
  const fill = (part: 'limits' | 'requests') => {
    const missing = Object.keys(defaults[part]).filter(name => !Object.hasOwn(container.resources?.[part] ?? {}, name))
    if (missing.length === 0) return []
    const amounts = ((container.resources ??= {})[part] ??= {})
    for (const name of missing) setOwn(amounts, name, defaults[part][name]!)
    return [`${missing.sort().join(', ')} ${part.slice(0, -1)} for ${what} ${container.name}`]
  }
  const limits = fill('limits')
  return [...fill('requests'), ...limits]
}

function* podFaults(spec: PodSpec, items: readonly Item[], { ctx }: Attributes): Iterable<string> {
  for (const item of items) {
    const containers = [...(spec.containers ?? []), ...(spec.initContainers ?? [])] as Limited[]
    const bounds = boundsOf(item)
    if (item.type === 'Container') {
      ctx.budget.charge(containers.length * (bounds.min.length + bounds.max.length + bounds.ratio.length) * WORK_PER_BOUND)
      for (const { resources = {} } of containers) yield* boundFaults(bounds, resources)
    }
    if (item.type === 'Pod')
      yield* boundFaults(bounds, {
        requests: podTotals(spec, 'requests', ctx.gate('PodLevelResources')),
        limits: podTotals(spec, 'limits', ctx.gate('PodLevelResources')),
      })
  }
}

function* claimFaults({ requests = {} }: Resources, items: readonly Item[]): Iterable<string> {
  for (const { type, min = {}, max = {} } of items) {
    if (type !== 'PersistentVolumeClaim') continue
    for (const [name, least] of byName(min)) yield* belowMinimum({ type, name, bound: least }, { requests })
    for (const [name, most] of byName(max)) {
      const request = amountOf(requests, name)
      const rule = `maximum ${name} usage per ${type} is ${most}`
      if (!request) yield `${rule}.  No request is specified`
      else if (compareQuantity(request, parseQuantity(most)) > 0) yield `${rule}, but request is ${requests[name]}`
    }
  }
}

type Bound = { readonly type: string; readonly name: string; readonly bound: string }
type Bounds = { readonly min: readonly Bound[]; readonly max: readonly Bound[]; readonly ratio: readonly Bound[] }

function boundsOf({ type, min = {}, max = {}, maxLimitRequestRatio = {} }: Item): Bounds {
  const sorted = (amounts: Amounts) => byName(amounts).map(([name, bound]) => ({ type, name, bound }))
  return { min: sorted(min), max: sorted(max), ratio: sorted(maxLimitRequestRatio) }
}

function* boundFaults({ min, max, ratio }: Bounds, resources: Resources): Iterable<string> {
  for (const bound of min) yield* belowMinimum(bound, resources)
  for (const bound of max) yield* aboveMaximum(bound, resources)
  for (const bound of ratio) yield* aboveRatio(bound, resources)
}

function* belowMinimum({ type, name, bound }: Bound, { requests = {}, limits = {} }: Resources): Iterable<string> {
  const [request, limit, least] = [amountOf(requests, name), amountOf(limits, name), parseQuantity(bound)]
  const rule = `minimum ${name} usage per ${type} is ${bound}`
  if (!request) yield `${rule}.  No request is specified`
  else if (compareQuantity(request, least) < 0) yield `${rule}, but request is ${requests[name]}`
  else if (limit && compareQuantity(limit, least) < 0) yield `${rule}, but limit is ${limits[name]}`
}

function* aboveMaximum({ type, name, bound }: Bound, { requests = {}, limits = {} }: Resources): Iterable<string> {
  const [request, limit, most] = [amountOf(requests, name), amountOf(limits, name), parseQuantity(bound)]
  const rule = `maximum ${name} usage per ${type} is ${bound}`
  if (!limit) yield `${rule}.  No limit is specified`
  else if (compareQuantity(limit, most) > 0) yield `${rule}, but limit is ${limits[name]}`
  else if (request && compareQuantity(request, most) > 0) yield `${rule}, but request is ${requests[name]}`
}

/** Amounts up to this many are compared in thousandths. */
const MAX_MILLI = (1n << 63n) / 1000n

function* aboveRatio({ type, name, bound }: Bound, { requests = {}, limits = {} }: Resources): Iterable<string> {
  const [request, limit, most] = [amountOf(requests, name), amountOf(limits, name), parseQuantity(bound)]
  const rule = `${name} max limit to request ratio per ${type} is ${bound}`
  const inMilli = [request, limit, most].every(amount => !amount || integerValue(amount) <= MAX_MILLI)
  const amountIn = (amount: Quantity) => Number(inMilli ? milliValue(amount) : integerValue(amount))
  if (!request || amountIn(request) === 0) return yield `${rule}, but no request is specified or request is 0`
  if (!limit || amountIn(limit) === 0) return yield `${rule}, but no limit is specified or limit is 0`
  const ratio = amountIn(limit) / amountIn(request)
  const isAbove = integerValue(most) <= MAX_MILLI ? ratio * 1000 > Number(milliValue(most)) : ratio > Number(integerValue(most))
  if (isAbove) yield `${rule}, but provided ratio is ${ratio.toFixed(6)}`
}

const byName = (amounts: Amounts): [string, string][] => Object.entries(amounts).sort(([a], [b]) => (a < b ? -1 : 1))

function amountOf(amounts: Amounts, name: string): Quantity | undefined {
  const text = getOwn(amounts, name)
  return text === undefined ? undefined : parseQuantity(text)
}

/** The requests of the containers together, or those of the pod as a whole where it has any. */
function podTotals(spec: PodSpec, part: 'requests' | 'limits', hasPodLevel: boolean): Record<string, string> {
  const amounts: Record<string, string> = {}
  for (const [name, { text }] of containerTotals(spec, part)) setOwn(amounts, name, text)
  const podLevel = hasPodLevel ? (spec.resources as Resources | undefined)?.[part] : undefined
  for (const name of ['cpu', 'memory']) {
    const own = podLevel && getOwn(podLevel, name)
    if (own !== undefined) setOwn(amounts, name, own)
  }
  return amounts
}
