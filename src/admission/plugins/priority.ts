/** Pods and groups of pods get the number that their priority class stands for; there is one default class at most. */
import type { PodSpec } from '../../kinds/rules/pod/spec.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import { forbiddenRequest } from '../../schema/status-error.ts'
import type { Attributes } from '../attributes.ts'
import type { Plugin } from '../plugin.ts'
import type { Reader } from '../reader.ts'

type PriorityClass = AnyObject & { value: number; globalDefault?: boolean; preemptionPolicy?: string }
type Standing = { readonly className: string; readonly priority: number; readonly preemptionPolicy: string | undefined }

/** The priority of pods while no class is the default. */
const ORDINARY: Standing = { className: '', priority: 0, preemptionPolicy: 'PreemptLowerPriority' }

/** Groups of pods: their names in messages, and the feature gate of the kind. */
const GROUPS: Readonly<Record<string, { readonly name: string; readonly feature: string }>> = {
  podgroups: { name: 'pod group', feature: 'GenericWorkload' },
  compositepodgroups: { name: 'composite pod group', feature: 'CompositePodGroup' },
}

export function priority(reader: Reader, groupDomain: string, gate: (name: string) => boolean): Plugin {
  const classes = { group: `scheduling.${groupDomain}`, version: 'v1', plural: 'priorityclasses' }
  const defaultClass = () =>
    (reader.list(classes) as readonly PriorityClass[])
      .filter(({ globalDefault }) => globalDefault)
      .reduce<PriorityClass | undefined>((least, each) => (least === undefined || each.value < least.value ? each : least), undefined)

  const standingOf = (attributes: Attributes, name: string | undefined): Standing => {
    const found = (name ? reader.get(classes, name) : defaultClass()) as PriorityClass | undefined
    if (found) return { className: found.metadata.name ?? '', priority: found.value, preemptionPolicy: found.preemptionPolicy }
    if (name) throw refusal(attributes, `no PriorityClass with name ${name} was found`)
    return ORDINARY
  }

  return {
    name: 'Priority',
    plurals: ['pods', 'priorityclasses', ...Object.keys(GROUPS)],
    mutate(attributes) {
      const { operation, resource, subresource, object, oldObject } = attributes
      if (subresource !== '' || !object) return
      if (resource.group === classes.group && Object.hasOwn(GROUPS, resource.plural) && operation === 'CREATE') {
        const { name, feature } = GROUPS[resource.plural]!
        const spec = object['spec'] as Ranked
        if (gate(feature)) rankGroup(spec, standingOf(attributes, spec.priorityClassName), { attributes, name, gate })
      }
      if (resource.group !== '' || resource.plural !== 'pods') return
      const spec = object['spec'] as PodSpec
      if (operation === 'CREATE') rank(spec, standingOf(attributes, spec.priorityClassName), attributes)
      else if (operation === 'UPDATE' && oldObject) keepRank(spec, oldObject['spec'] as PodSpec)
    },
    validate(attributes) {
      const { operation, resource, subresource, object } = attributes
      if (subresource !== '' || resource.group !== classes.group || resource.plural !== classes.plural) return
      if (!(object as PriorityClass | undefined)?.globalDefault) return
      const taken = defaultClass()?.metadata.name
      if (taken !== undefined && (operation === 'CREATE' || taken !== object?.metadata.name))
        throw refusal(attributes, `PriorityClass ${taken} is already marked as default. Only one default can exist`)
    },
  }
}

/** Numbers in the pod itself may only repeat what follows from the class. */
function rank(spec: PodSpec, { className, priority, preemptionPolicy }: Standing, attributes: Attributes): void {
  if (className !== '') spec.priorityClassName = className
  if (spec.priority !== undefined && spec.priority !== priority)
    throw refusal(
      attributes,
      `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${priority} from the given PriorityClass name`,
    )
  spec.priority = priority
  if (preemptionPolicy === undefined) return
  if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== preemptionPolicy)
    throw refusal(
      attributes,
      `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${preemptionPolicy} from the given PriorityClass name`,
    )
  spec.preemptionPolicy = preemptionPolicy
}

type Ranked = Pick<PodSpec, 'priority' | 'priorityClassName' | 'preemptionPolicy'>
type GroupRules = { readonly attributes: Attributes; readonly name: string; readonly gate: (name: string) => boolean }

function rankGroup(spec: Ranked, { className, priority, preemptionPolicy }: Standing, { attributes, name, gate }: GroupRules): void {
  if (spec.priority !== undefined && spec.priority !== priority)
    throw refusal(
      attributes,
      `priority set in the ${name} (${spec.priority}) must match the priority computed (${priority}) based on the priority class set in the spec`,
    )
  spec.priority = priority
  if (className !== '') spec.priorityClassName = className
  if (preemptionPolicy === undefined || !gate('PodGroupPreemptionPolicy')) return
  if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== preemptionPolicy)
    throw refusal(
      attributes,
      `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in ${name} spec; priority admission controller computed ${preemptionPolicy} from the given PriorityClass name`,
    )
  spec.preemptionPolicy = preemptionPolicy
}

/** Clients that send a pod as they wrote it do not know the fields that admission has set. */
function keepRank(spec: PodSpec, old: PodSpec): void {
  if (old.priority !== undefined) spec.priority ??= old.priority
  if (old.preemptionPolicy !== undefined) spec.preemptionPolicy ??= old.preemptionPolicy
}

const refusal = ({ resource, name, object }: Attributes, why: string) =>
  forbiddenRequest(resource, name || object?.metadata.name || '', why)
