/** How API groups and their versions are ordered for clients: the numbers that kube-apiserver registers its own with. */

/** Priorities by the first part of a group's name, which stands for those under the domain of the server. */
const GROUPS: Readonly<Record<string, number>> = {
  '': 18_000,
  // Clients find out here what else is served, so that nothing comes before it.
  apiregistration: 20_000,
  apps: 17_800,
  events: 17_750,
  authentication: 17_700,
  authorization: 17_600,
  autoscaling: 17_500,
  batch: 17_400,
  certificates: 17_300,
  networking: 17_200,
  policy: 17_100,
  'rbac.authorization': 17_000,
  storage: 16_800,
  apiextensions: 16_700,
  admissionregistration: 16_700,
  scheduling: 16_600,
  coordination: 16_500,
  node: 16_300,
  discovery: 16_200,
  resource: 16_200,
  'flowcontrol.apiserver': 16_100,
  'internal.apiserver': 16_000,
  storagemigration: 15_800,
  lifecycle: 15_700,
  metrics: 100,
}
/** Versions whose number is not the usual. */
const VERSIONS: Readonly<Record<string, number>> = {
  '/v1': 1,
  'autoscaling/v2': 30,
  'flowcontrol.apiserver/v1': 21,
  'resource/v1': 21,
  'resource/v1beta2': 15,
  'resource/v1alpha3': 1,
  'admissionregistration/v1beta1': 12,
  'admissionregistration/v1alpha1': 9,
  'coordination/v1beta1': 13,
  'coordination/v1alpha2': 12,
  'metrics/v1beta1': 100,
}
const USUAL_VERSIONS = [15, 9, 1] as const

export type Priorities = { readonly groupPriorityMinimum: number; readonly versionPriority: number }

/** Those of custom kinds, and of whatever has none of its own. */
export const CUSTOM_PRIORITIES: Priorities = { groupPriorityMinimum: 1000, versionPriority: 100 }

/** The priorities of a version of a built-in group, the group without the domain of the server. */
export function prioritiesOf(group: string, version: string): Priorities {
  const groupPriorityMinimum = Object.hasOwn(GROUPS, group) ? GROUPS[group] : undefined
  if (groupPriorityMinimum === undefined) return CUSTOM_PRIORITIES
  const usual = USUAL_VERSIONS[version.includes('alpha') ? 2 : version.includes('beta') ? 1 : 0]
  return { groupPriorityMinimum, versionPriority: VERSIONS[`${group}/${version}`] ?? usual }
}
