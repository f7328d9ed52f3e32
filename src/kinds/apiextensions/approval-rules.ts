/** API groups of Kubernetes are for kinds that its community has approved, which an annotation records. */
import { goQuote } from '../../lib/go-text.ts'
import { parseUrl } from '../../lib/url.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import { entry, type FieldError, invalid, type Ref, required } from '../../schema/refs.ts'

const APPROVED = 'api-approved.kubernetes.io'
const SEE = 'see https://github.com/kubernetes/enhancements/pull/1111'

/** Whether a group is reserved for approved kinds. */
export function isProtectedGroup(group: string, groupDomain: string): boolean {
  return [groupDomain, 'kubernetes.io'].some(domain => group === domain || group.endsWith(`.${domain}`))
}

export type Approval = { readonly state: 'invalid' | 'approved' | 'bypassed' | 'missing'; readonly reason: string }

/** The value of the annotation. */
export function approvalOf(annotations: Readonly<Record<string, string>> | undefined): Approval {
  const text = (annotations && Object.hasOwn(annotations, APPROVED) ? annotations[APPROVED] : undefined) ?? ''
  const wanted = `protected groups must have approval annotation "${APPROVED}"`
  if (text === '') return { state: 'missing', reason: `${wanted}, ${SEE}` }
  if (text.startsWith('unapproved')) return { state: 'bypassed', reason: `not approved: ${goQuote(text)}` }
  if (isAddress(text)) return { state: 'approved', reason: `approved in ${text}` }
  return { state: 'invalid', reason: `${wanted} with either a URL or a reason starting with "unapproved", ${SEE}` }
}

function isAddress(text: string): boolean {
  const url = parseUrl(text)
  return !('problem' in url) && url.scheme !== '' && url.host !== ''
}

/** A kind in a protected group must be approved, or be marked as unapproved; stored definitions may stay as they are. */
export function* validateApproval(
  metadata: AnyObject['metadata'],
  at: Ref<AnyObject['metadata']>,
  old: AnyObject['metadata'] | undefined,
): Iterable<FieldError> {
  const { state, reason } = approvalOf(metadata.annotations)
  if (old && approvalOf(old.annotations).state === state) return
  const there = entry(at.annotations, APPROVED)
  if (state === 'invalid') yield invalid(there, reason)
  if (state === 'missing') yield required(there, reason)
}
