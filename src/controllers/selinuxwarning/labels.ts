/** SELinux labels with which pods mount volumes, and the conflicts between pods that share one. */

export type SELinuxOptions = { readonly user?: string; readonly role?: string; readonly type?: string; readonly level?: string }
type Container = {
  readonly securityContext?: { readonly seLinuxOptions?: SELinuxOptions }
  readonly volumeMounts?: readonly { readonly name: string }[] | null
}
export type PodLabels = {
  readonly securityContext?: { readonly seLinuxOptions?: SELinuxOptions; readonly seLinuxChangePolicy?: string }
  readonly containers: readonly Container[]
  readonly initContainers?: readonly Container[]
  readonly ephemeralContainers?: readonly Container[]
}

/** The labels of each volume that a pod mounts; containers of one pod may differ. */
export function labelsByVolume(spec: PodLabels): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  for (const container of [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])]) {
    const options = container.securityContext?.seLinuxOptions ?? spec.securityContext?.seLinuxOptions
    for (const { name } of container.volumeMounts ?? []) {
      const labels = found.get(name) ?? new Set<string>()
      found.set(name, labels)
      if (options) labels.add(labelOf(options))
    }
  }
  return found
}

function labelOf({ user = '', role = '', type = '', level = '' }: SELinuxOptions): string {
  const label = [user, role, type, level].join(':')
  return label === ':::' ? '' : label
}

/** How a pod uses a volume. */
export type Use = { readonly pod: PodName; readonly label: string; readonly changePolicy: string }
export type PodName = { readonly namespace: string; readonly name: string }
export type Conflict = { readonly pod: PodName; readonly reason: string; readonly message: string }

/** How a pod uses a volume with a label, where the volume may not support mounting with one. */
export function useOf(
  pod: PodName,
  spec: PodLabels,
  { label, isSupported }: { readonly label: string; readonly isSupported: boolean },
): Use {
  const wanted = spec.securityContext?.seLinuxChangePolicy ?? 'MountOption'
  const mounted = isSupported && wanted !== 'Recursive' ? label : ''
  return { pod, label: mounted, changePolicy: mounted === '' ? 'Recursive' : wanted }
}

/** Conflicts of one use of a volume with the others, for both pods. */
export function* conflictsOf(use: Use, others: Iterable<Use>): Iterable<Conflict> {
  for (const other of others) {
    if (other.changePolicy !== use.changePolicy) yield* both(use, other, { property: 'SELinuxChangePolicy', of: each => each.changePolicy })
    if (labelsConflict(other.label, use.label)) yield* both(use, other, { property: 'SELinuxLabel', of: each => each.label })
  }
}

type Property = { readonly property: string; readonly of: (use: Use) => string }

function* both(use: Use, other: Use, property: Property): Iterable<Conflict> {
  yield conflict(use, other, property)
  yield conflict(other, use, property)
}

/** Names of pods in other namespaces are not revealed. */
function conflict({ pod, ...use }: Use, other: Use, { property, of }: Property): Conflict {
  const value = `"${of({ pod, ...use })}"`
  const end = 'If both pods land on the same node, only one of them may access the volume.'
  const message =
    pod.namespace === other.pod.namespace
      ? `${property} ${value} conflicts with pod ${other.pod.name} that uses the same volume as this pod with ${property} "${of(other)}". ${end}`
      : `${property}${value} conflicts with another pod that uses the same volume as this pod with a different ${property}. ${end}`
  return { pod, reason: `${property}Conflict`, message }
}

/** User, role and type that one label leaves open conflict with none; levels have to be the same. */
function labelsConflict(a: string, b: string): boolean {
  const [first, second] = [partsOf(a), partsOf(b)]
  return first.some((part, i) => part !== second[i] && (i === LEVEL || (part !== '' && second[i] !== '')))
}
const LEVEL = 3

function partsOf(label: string): string[] {
  const [user = '', role = '', type = '', ...level] = label.split(':')
  return [user, role, type, level.join(':')]
}
