/** All chores, and the parts of the server that they need. A run has some of them. */
import { apply } from './apply.ts'
import type { Chore, Needs } from './chore.ts'
import { definitions } from './definitions.ts'
import { devices } from './devices.ts'
import { duties } from './duties.ts'
import { informers } from './informers.ts'
import { namespaces } from './namespaces.ts'
import { owners } from './owners.ts'
import { policies } from './policies.ts'
import { quota } from './quota.ts'
import { roles } from './roles.ts'
import { services } from './services.ts'
import { workloads } from './workloads.ts'

/** Each is made anew for every run, as it remembers acknowledged writes. */
export const CHORES: readonly { readonly name: string; readonly make: () => Chore }[] = [
  ...[namespaces, quota, roles, services].map(chore => ({ name: chore.name, make: () => chore })),
  ...[apply, owners, policies, definitions, workloads, devices, duties, informers].map(make => ({ name: make().name, make })),
]

const CONTROLLERS = ['namespace', 'garbagecollector', 'resourcequota']

/** The options of servers in a run with these chores. */
export function neededBy(names: readonly string[]) {
  if (names.length === 0) return { controllers: ['none'], nodes: 0 }
  const needs = CHORES.filter(({ name }) => names.includes(name)).map(({ make }): Needs => make().needs ?? {})
  return {
    controllers: [...new Set([...CONTROLLERS, ...needs.flatMap(({ controllers = [] }) => controllers)])],
    nodes: Math.max(...needs.map(({ nodes = 0 }) => nodes)),
    nodeDevices: needs.flatMap(({ nodeDevices = [] }) => nodeDevices),
  }
}
