/** Devices: what it costs the scheduler to find a node for a pod that claims some, among 1,000 nodes with 8 devices each. */

import { KeptResults } from '../src/scheduler/local-results.ts'
import { Nominations } from '../src/scheduler/nominations.ts'
import type { Cycle } from '../src/scheduler/plugin.ts'
import { podInfoOf } from '../src/scheduler/pod-info.ts'
import { DEFAULT_PROFILE } from '../src/scheduler/profile.ts'
import { schedulePod } from '../src/scheduler/schedule-pod.ts'
import { clusterOf, devicesIn, lookupsIn, nodeOf, podOf } from '../test/kits/scheduler.ts'

export type DeviceFigures = {
  readonly nodes: number
  readonly devicesPerNode: number
  /** Processor milliseconds of one decision, the median and the 99th percentile, by the kind of claim. */
  readonly decisions: readonly { readonly what: string; readonly medianMs: number; readonly p99Ms: number; readonly pods: number }[]
}

const NODES = 1000
const PER_NODE = 8
const DRIVER = 'gpu.example.com'

/** A request of a claim, and how many devices a pod takes by it. */
type Claimed = { readonly what: string; readonly devices: object; readonly taken: number }

const exactly = (more: object) => ({ deviceClassName: 'gpu', allocationMode: 'ExactCount', count: 1, ...more })
const SELECTOR = {
  cel: {
    expression: `device.attributes["${DRIVER}"].model == "A100" && device.capacity["${DRIVER}"].memory.isGreaterThan(quantity("40Gi"))`,
  },
}

const CLAIMED: readonly Claimed[] = [
  { what: 'one device', devices: { requests: [{ name: 'r', exactly: exactly({ selectors: [SELECTOR] }) }] }, taken: 1 },
  {
    what: 'four devices on one NUMA node',
    devices: {
      requests: [{ name: 'r', exactly: exactly({ count: 4, selectors: [SELECTOR] }) }],
      constraints: [{ matchAttribute: `${DRIVER}/numa` }],
    },
    taken: 4,
  },
  {
    what: 'all devices of a node, or else two',
    devices: {
      requests: [
        {
          name: 'r',
          firstAvailable: [
            { name: 'all', deviceClassName: 'gpu', allocationMode: 'All', selectors: [SELECTOR] },
            { name: 'two', ...exactly({ count: 2 }) },
          ],
        },
      ],
    },
    taken: 8,
  },
]

export function deviceFigures(quick: boolean): DeviceFigures {
  return { nodes: NODES, devicesPerNode: PER_NODE, decisions: CLAIMED.map(claimed => measure(claimed, quick)) }
}

/** Places pods one after another until devices run out or there are enough, and then one more that finds nothing. */
function measure({ what, devices, taken }: Claimed, quick: boolean): DeviceFigures['decisions'][number] {
  const names = Array.from({ length: NODES }, (_, i) => `node-${i}`)
  const cluster = clusterOf(names.map(name => nodeOf(name, { allocatable: { pods: '1000', cpu: '1000' } })))
  const slices = Object.fromEntries(names.map(name => [name, sliceOf(name)]))
  const pods = Math.min(Math.floor((NODES * PER_NODE) / taken), quick ? 200 : 2000)
  const claims = Object.fromEntries(Array.from({ length: pods }, (_, i) => [`claim-${i}`, { spec: { devices } }]))
  const world = {
    resourceClaims: claims,
    devices: { slices, classes: { gpu: { selectors: [{ cel: { expression: `device.driver == "${DRIVER}"` } }] } } },
  }
  const lookups = { ...lookupsIn({}), devices: devicesIn(world) }
  const parts = {
    profile: DEFAULT_PROFILE,
    nominations: new Nominations(),
    random: Math.random,
    rotation: { next: 0 },
    kept: new KeptResults(),
  }
  const times: number[] = []
  for (let i = 0; i < pods; i++) {
    const pod = podOf({ name: `pod-${i}`, spec: { resourceClaims: [{ name: 'gpu', resourceClaimName: `claim-${i}` }] } })
    const cycle: Cycle = { pod, info: podInfoOf(pod), cluster, lookups, state: new Map() }
    const before = process.cpuUsage()
    const placement = schedulePod(cycle, parts)
    if (placement.type === 'placed') for (const { reserve } of DEFAULT_PROFILE.reservers) reserve?.(cycle, placement.node)
    const { user, system } = process.cpuUsage(before)
    times.push((user + system) / 1000)
    if (placement.type === 'placed') cluster.setPod({ ...cycle.info, nodeName: placement.node })
    else break
  }
  // The first ones are of a process that still compiles what it runs.
  const warm = times.slice(Math.min(20, Math.floor(times.length / 10))).sort((a, b) => a - b)
  return { what, medianMs: warm[Math.floor(warm.length / 2)]!, p99Ms: warm[Math.floor(warm.length * 0.99)]!, pods: times.length }
}

const sliceOf = (node: string) => ({
  driver: DRIVER,
  pool: { name: node, generation: 1, resourceSliceCount: 1 },
  nodeName: node,
  devices: Array.from({ length: PER_NODE }, (_, i) => ({
    name: `gpu-${i}`,
    attributes: { model: { string: 'A100' }, index: { int: i }, numa: { int: Math.floor(i / 4) } },
    capacity: { memory: { value: '80Gi' } },
  })),
})
