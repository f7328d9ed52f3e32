/**
 * The devices of simulated nodes, described by a flag:
 *
 *     gpu.example.com=8,model=A100,capacity.memory=80Gi          eight devices of a driver on each node
 *     nic.example.com=2,capacity.bandwidth=100Gi,shared          that several claims can share
 *     gpu.example.com=2,partitions=4                             each of which can also be had in quarters
 */
import type { Device, DeviceAttribute, ResourceSliceSpec } from '../../kinds/resource/slice-shapes.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { LIMITS } from '../../lib/limits.ts'
import { isDNS1123Subdomain } from '../../lib/names.ts'
import { integerValue, isQuantity, parseQuantity, quantityOf } from '../../lib/quantity.ts'

export type DriverSpec = {
  readonly driver: string
  readonly count: number
  readonly attributes: Readonly<Record<string, DeviceAttribute>>
  readonly capacity: Readonly<Record<string, string>>
  readonly isShared: boolean
  /** Number of partitions of each device; zero for none. */
  readonly partitions: number
}

/** An invalid description; the message says why. */
export class DriverSpecError extends Error {}

const SHAPE = 'DRIVER=COUNT and then attributes such as model=A100, capacity.NAME=QUANTITY, shared or partitions=N'
const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,31}$/
const VERSION = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/
const MAX_NAMES = 30

/** Reads a description; throws a DriverSpecError. */
export function readDriverSpec(text: string): DriverSpec {
  const fail = (why: string): never => {
    throw new DriverSpecError(why)
  }
  const [first = '', ...settings] = text.split(',').map(part => part.trim())
  const [, driver = '', number = ''] = /^([^=]+)=(\d{1,6})$/.exec(first) ?? fail(`takes ${SHAPE}, not "${text}"`)
  if (isDNS1123Subdomain(driver).length > 0 || driver.length > 63) fail(`"${driver}" is not the name of a driver, such as gpu.example.com`)
  const count = Number(number)
  const attributes: Record<string, DeviceAttribute> = {}
  const capacity: Record<string, string> = {}
  let [isShared, partitions] = [false, 0]
  for (const setting of settings) {
    if (setting === 'shared') {
      isShared = true
      continue
    }
    const [, name = '', value = ''] = /^([^=]+)=(.+)$/.exec(setting) ?? fail(`takes ${SHAPE}, not "${setting}"`)
    const amount = /^capacity\.(.+)$/.exec(name)?.[1]
    if (name === 'partitions') partitions = /^\d{1,2}$/.test(value) ? Number(value) : fail(`partitions must be a number, not "${value}"`)
    else if (!NAME.test(amount ?? name))
      fail(`"${amount ?? name}" is not the name of ${amount ? 'a capacity' : 'an attribute'}: letters, digits and _`)
    else if (amount === undefined) attributes[name] = attributeOf(value)
    else capacity[amount] = isQuantity(value) ? value : fail(`capacity.${amount} must be a quantity such as 80Gi, not "${value}"`)
  }
  if (Object.keys(attributes).length + Object.keys(capacity).length > MAX_NAMES)
    fail(`a device can have ${MAX_NAMES} attributes and capacities`)
  if (count < 1 || count * (1 + partitions) > LIMITS.devicesOfSimulatedNode)
    fail(`a node can have ${LIMITS.devicesOfSimulatedNode} devices of a driver, partitions included`)
  if (isShared && partitions > 0) fail('devices are either shared or divided')
  return { driver, count, attributes, capacity, isShared, partitions }
}

function attributeOf(value: string): DeviceAttribute {
  if (value === 'true' || value === 'false') return { bool: value === 'true' }
  if (/^-?\d{1,15}$/.test(value)) return { int: Number(value) }
  return VERSION.test(value) ? { version: value } : { string: value.slice(0, 64) }
}

/** A slice without its position in the pool. */
export type SliceContent = Pick<ResourceSliceSpec, 'devices' | 'sharedCounters' | 'partitionTypeAttribute'>

const DEVICES_PER_SLICE = 128
const PARTITIONS_PER_SLICE = 64
const COUNTER_SETS_PER_SLICE = 8

/** The slices that a node publishes for a driver. Devices are named after the first label of its name. */
export function sliceContents(
  { driver, count, attributes, capacity, isShared, partitions }: DriverSpec,
  { namesPartitions }: { readonly namesPartitions: boolean },
): SliceContent[] {
  const kind = driver.split('.')[0]!.slice(0, 40)
  const numbers = Array.from({ length: count }, (_, i) => i)
  const deviceOf = (name: string, index: number, parts: number, more: Partial<Device>): Device => ({
    name,
    attributes: { ...attributes, index: { int: index }, ...(partitions > 0 && { type: { string: parts === 1 ? 'whole' : 'part' } }) },
    ...(Object.keys(capacity).length > 0 && {
      capacity: Object.fromEntries(Object.entries(capacity).map(([each, value]) => [each, { value: shareOf(value, parts) }])),
    }),
    ...more,
  })
  if (partitions === 0) {
    const more = isShared ? { allowMultipleAllocations: true } : {}
    return chunksOf(
      numbers.map(i => deviceOf(`${kind}-${i}`, i, 1, more)),
      DEVICES_PER_SLICE,
    ).map(devices => ({ devices }))
  }
  const consumes = (i: number, parts: number) => ({
    consumesCounters: [{ counterSet: `${kind}-${i}`, counters: { parts: { value: String(parts) } } }],
  })
  const devices = numbers.flatMap(i => [
    deviceOf(`${kind}-${i}`, i, 1, consumes(i, partitions)),
    ...Array.from({ length: partitions }, (_, part) => deviceOf(`${kind}-${i}-part-${part}`, i, partitions, consumes(i, 1))),
  ])
  const sets = numbers.map(i => ({ name: `${kind}-${i}`, counters: { parts: { value: String(partitions) } } }))
  const named = namesPartitions ? { partitionTypeAttribute: `${driver}/type` } : {}
  return [
    ...chunksOf(sets, COUNTER_SETS_PER_SLICE).map(sharedCounters => ({ sharedCounters })),
    ...chunksOf(devices, PARTITIONS_PER_SLICE).map(chunk => ({ devices: chunk, ...named })),
  ]
}

function shareOf(value: string, parts: number): string {
  if (parts === 1) return value
  const quantity = parseQuantity(value)
  return quantityOf(integerValue(quantity) / BigInt(parts), 0, quantity.format).text
}

const chunksOf = <T>(all: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size))

export type Published = { readonly metadata: { readonly name?: string }; readonly spec: ResourceSliceSpec }

/** The slices of a driver on a node to write and to delete, given the existing ones. */
export function planSlices<S extends Published>(
  node: string,
  spec: Pick<DriverSpec, 'driver'> & { readonly contents: readonly SliceContent[] },
  there: readonly S[],
): { readonly put: { readonly name: string; readonly spec: ResourceSliceSpec; readonly old: S | undefined }[]; readonly remove: S[] } {
  const { driver, contents } = spec
  const nameOf = (i: number) => `${node}-${driver}-${i}`
  const byName = new Map(there.map(slice => [slice.metadata.name ?? '', slice]))
  const desired = contents.map((content, i) => {
    const old = byName.get(nameOf(i))
    return { name: nameOf(i), old, content: withTaints(content, old?.spec) }
  })
  const remove = there.filter(({ metadata }) => !desired.some(({ name }) => name === metadata.name))
  const newest = there.reduce((highest, slice) => Math.max(highest, Number(slice.spec.pool.generation)), 0)
  const isCurrent = ({ old, content }: (typeof desired)[number]) =>
    old !== undefined &&
    Number(old.spec.pool.generation) === newest &&
    Number(old.spec.pool.resourceSliceCount) === contents.length &&
    deepEqual(contentOf(old.spec), content)
  if (remove.length === 0 && desired.every(isCurrent)) return { put: [], remove: [] }
  const pool = { name: node, generation: newest + 1, resourceSliceCount: contents.length }
  return { put: desired.map(({ name, old, content }) => ({ name, old, spec: { driver, pool, nodeName: node, ...content } })), remove }
}

const contentOf = ({ devices, sharedCounters, partitionTypeAttribute }: ResourceSliceSpec): SliceContent => ({
  ...(devices && { devices }),
  ...(sharedCounters && { sharedCounters }),
  ...(partitionTypeAttribute !== undefined && { partitionTypeAttribute }),
})

/** Keeps the taints that users have put on devices. */
function withTaints(content: SliceContent, old: ResourceSliceSpec | undefined): SliceContent {
  const tainted = new Map((old?.devices ?? []).flatMap(({ name, taints }) => (taints?.length ? [[name, taints] as const] : [])))
  if (!content.devices || tainted.size === 0) return content
  const devices = content.devices.map(device => {
    const taints = tainted.get(device.name)
    return taints ? { ...device, taints } : device
  })
  return { ...content, devices }
}
