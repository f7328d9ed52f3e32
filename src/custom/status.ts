/** The status of a definition: accepted names and conditions, computed from its spec and the other definitions of the group. */
import { approvalOf, isProtectedGroup } from '../kinds/apiextensions/approval-rules.ts'
import { setCondition } from '../kinds/apiextensions/customresourcedefinition.ts'
import type { Status } from '../kinds/apiextensions/definition-shapes.ts'
import { copyJson, deepEqual } from '../lib/json-value.ts'
import { type CustomDefinition, findCondition, isTrue } from './definition.ts'
import { acceptNames, hasItsNames } from './names.ts'

export type Surroundings = {
  /** All definitions of the same group, the one in question among them. */
  readonly group: Iterable<CustomDefinition>
  readonly now: Date
  readonly groupDomain: string
  /** Whether the certificates for a conversion webhook can be used. */
  readonly isTrusted: (definition: CustomDefinition) => boolean
}

/** The status after the server has looked at a definition; the same one where nothing changes. */
export function settledStatus(definition: CustomDefinition, around: Surroundings): Status {
  const { group, now, isTrusted } = around
  const status = copyJson(definition.status)
  const set = (condition: Parameters<typeof setCondition>[1]) => setCondition(status, condition, now)
  if (!hasItsNames(definition)) {
    const { names, accepted, established } = acceptNames(definition, group)
    status.acceptedNames = names
    set(accepted)
    set(established)
  }
  if (isTrue(status, 'NamesAccepted') && !isTrue(status, 'Established')) {
    set(
      isTrusted(definition)
        ? { type: 'Established', status: 'True', reason: 'InitialNamesAccepted', message: 'the initial names have been accepted' }
        : { type: 'Established', status: 'False', reason: 'InvalidCABundle', message: 'The conversion webhook CABundle is invalid' },
    )
  }
  setStructural(definition, status, now)
  setApproval(definition, status, around)
  return deepEqual(status, definition.status) ? definition.status : status
}

/** Schemas that are not structural are refused today; the ones of an old definition are reported. */
function setStructural({ spec }: CustomDefinition, status: Status, now: Date): void {
  if (spec.preserveUnknownFields) {
    const message = 'spec.preserveUnknownFields: Invalid value: true: must be false'
    setCondition(status, { type: 'NonStructuralSchema', status: 'True', reason: 'Violations', message }, now)
  } else if (findCondition(status, 'NonStructuralSchema')) {
    status.conditions = status.conditions!.filter(({ type }) => type !== 'NonStructuralSchema')
  }
}

/** Groups of the Kubernetes community have to name the approval of their API. */
function setApproval({ spec, metadata }: CustomDefinition, status: Status, { now, groupDomain }: Surroundings): void {
  if (!isProtectedGroup(spec.group, groupDomain)) return
  const { state, reason: message } = approvalOf(metadata.annotations)
  const [value, reason] = APPROVALS[state]
  setCondition(status, { type: 'KubernetesAPIApprovalPolicyConformant', status: value, reason, message }, now)
}

const APPROVALS = {
  invalid: ['False', 'InvalidAnnotation'],
  missing: ['False', 'MissingAnnotation'],
  approved: ['True', 'ApprovedAnnotation'],
  bypassed: ['False', 'UnapprovedAnnotation'],
} as const
