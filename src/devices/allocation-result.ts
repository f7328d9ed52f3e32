/** Builds the allocation in the status of a claim from the chosen devices. */
import type { AllocationResult, DeviceRequestAllocationResult } from '../kinds/resource/allocation-shapes.ts'
import type { DeviceAllocationConfiguration } from '../kinds/resource/claim-shapes.ts'
import type { NodeSelector, NodeSelectorRequirement } from '../kinds/rules/pod/scheduling/node-selector.ts'
import type { Choice, Chosen } from './allocate.ts'
import type { DeviceAlternative, PreparedClaim } from './claim-requests.ts'

export type ResultParts = {
  readonly node: string
  /** Makes the names of shares. */
  readonly uuid: () => string
}

export function allocationResult(claim: PreparedClaim, { devices, alternatives }: Choice, { node, uuid }: ResultParts): AllocationResult {
  const results = devices.map(chosen => deviceResult(chosen, uuid))
  const config = configurationOf(claim, alternatives)
  const nodeSelector = nodeSelectorOf(devices, node)
  return { devices: { results, ...(config.length > 0 && { config }) }, ...(nodeSelector && { nodeSelector }) }
}

function deviceResult({ alternative, device, consumed }: Chosen, uuid: () => string): DeviceRequestAllocationResult {
  const { driver, pool, skipNodeOperations } = device.slice.spec
  const { name, bindingConditions, bindingFailureConditions } = device.spec
  const amounts = [...(consumed ?? [])].map(([capacity, { text }]): [string, string] => [capacity, text])
  return {
    request: alternative.name,
    driver,
    pool: pool.name,
    device: name,
    ...(alternative.isAdmin && { adminAccess: true }),
    ...(alternative.spec.tolerations?.length && { tolerations: alternative.spec.tolerations }),
    ...(bindingConditions?.length && { bindingConditions }),
    ...(bindingFailureConditions?.length && { bindingFailureConditions }),
    ...(consumed && { shareID: uuid() }),
    ...(amounts.length > 0 && { consumedCapacity: Object.fromEntries(amounts) }),
    ...(skipNodeOperations?.length && { skipNodeOperations }),
  }
}

/** The configuration of classes, each once, and then that of the claim, as far as it applies to the chosen requests. */
function configurationOf({ claim, requests }: PreparedClaim, alternatives: readonly DeviceAlternative[]): DeviceAllocationConfiguration[] {
  const ofClass = new Map<string, { readonly alternative: DeviceAlternative; readonly requests: string[] }>()
  for (const alternative of alternatives) {
    const name = alternative.class.metadata.name ?? ''
    const known = ofClass.get(name)
    if (known) known.requests.push(alternative.name)
    else ofClass.set(name, { alternative, requests: [alternative.name] })
  }
  const fromClasses = [...ofClass.values()].flatMap(({ alternative, requests: about }) =>
    (alternative.class.spec.config ?? []).map(({ opaque }) => ({ source: 'FromClass', requests: about, ...(opaque && { opaque }) })),
  )
  const isAbout = (names: readonly string[], alternative: DeviceAlternative) => alternative.names.some(name => names.includes(name))
  const fromClaim = (claim.spec.devices.config ?? []).flatMap(({ requests: about = [], opaque }) =>
    about.length === 0 || alternatives.some(alternative => isAbout(about, alternative))
      ? [{ source: 'FromClaim', requests: about, ...(opaque && { opaque }) }]
      : [],
  )
  // Configuration for all requests need not name them.
  return [...fromClasses, ...fromClaim].map(({ requests: about, ...rest }) => {
    const isAboutAll =
      about.length === 0 || (alternatives.length === requests.length && alternatives.every(alternative => isAbout(about, alternative)))
    return isAboutAll ? rest : { ...rest, requests: [...about] }
  })
}

/** Where the devices can be used; undefined for everywhere. */
function nodeSelectorOf(devices: readonly Chosen[], node: string): NodeSelector | undefined {
  const fields: NodeSelectorRequirement[] = []
  const expressions: NodeSelectorRequirement[] = []
  for (const { device } of devices) {
    const { spec, slice } = device
    const { nodeName, nodeSelector } = slice.spec.perDeviceNodeSelection ? spec : slice.spec
    if (nodeName !== undefined || spec.bindsToNode) {
      const matchFields = [{ key: 'metadata.name', operator: 'In', values: [node] }]
      return { nodeSelectorTerms: [{ matchFields }] }
    }
    const [term] = nodeSelector?.nodeSelectorTerms ?? []
    for (const requirement of term?.matchFields ?? []) addNew(fields, requirement)
    for (const requirement of term?.matchExpressions ?? []) addNew(expressions, requirement)
  }
  if (fields.length === 0 && expressions.length === 0) return undefined
  const term = { ...(expressions.length > 0 && { matchExpressions: expressions }), ...(fields.length > 0 && { matchFields: fields }) }
  return { nodeSelectorTerms: [term] }
}

function addNew(all: NodeSelectorRequirement[], requirement: NodeSelectorRequirement): void {
  const values = new Set(requirement.values)
  const isSame = (other: NodeSelectorRequirement) =>
    other.key === requirement.key &&
    other.operator === requirement.operator &&
    new Set(other.values).size === values.size &&
    (other.values ?? []).every(value => values.has(value))
  if (!all.some(isSame)) all.push(requirement)
}
