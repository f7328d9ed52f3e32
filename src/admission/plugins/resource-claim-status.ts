/**
 * Permissions on the status of a ResourceClaim: allocation and reservations need the synthetic subresource `binding`, the state of
 * devices needs `driver` for their drivers.
 */

import { deepEqual } from '../../lib/json-value.ts'
import { nameIsDNSSubdomain } from '../../lib/names.ts'
import { readAccountUser } from '../../lib/service-account-name.ts'
import type { Step } from '../../lib/step.ts'
import { type FieldError, forbidden, refTo } from '../../schema/refs.ts'
import { invalidObject } from '../../schema/status-error.ts'
import type { User } from '../../schema/user.ts'
import type { Attributes } from '../attributes.ts'
import type { RefusalOf } from '../permission.ts'
import type { Plugin } from '../plugin.ts'

export type ClaimStatusParts = { readonly refusalOf: RefusalOf; readonly groupDomain: string }

type Device = { readonly driver: string; readonly pool: string; readonly device: string; readonly shareID?: string }
type Term = {
  readonly matchExpressions?: readonly object[]
  readonly matchFields?: readonly { key: string; operator: string; values?: string[] }[]
}
type Status = {
  readonly allocation?: { readonly nodeSelector?: { readonly nodeSelectorTerms?: readonly Term[] } }
  readonly reservedFor?: readonly object[]
  readonly devices?: readonly Device[]
}

const GATE = 'DRAResourceClaimGranularStatusAuthorization'
const NODE_NAME = 'authentication.kubernetes.io/node-name'

export function resourceClaimStatus({ refusalOf, groupDomain }: ClaimStatusParts): Plugin {
  const group = `resource.${groupDomain}`
  return {
    name: 'ResourceClaimStatus',
    plurals: ['resourceclaims'],
    validate(attributes) {
      const { resource, subresource, operation, ctx } = attributes
      if (resource.group !== group || resource.plural !== 'resourceclaims' || subresource !== 'status') return
      if (operation === 'UPDATE' && ctx.gate(GATE)) return check(attributes, refusalOf)
    },
  }
}

function* check(attributes: Attributes, refusalOf: RefusalOf): Step<void> {
  const { resource, object, oldObject, ctx, namespace, verb } = attributes
  const [next, before]: [Status, Status] = [object?.['status'] ?? {}, oldObject?.['status'] ?? {}]
  const refusal = (verb: string, named: { subresource: string; namespace: string; name: string }) =>
    refusalOf(ctx.user, {
      verb,
      path: '',
      resource: { group: resource.group, version: resource.version, plural: resource.plural, ...named },
    })
  const at = refTo({ status: next }).status
  const errors: FieldError[] = []
  if (!deepEqual(next.allocation, before.allocation) || !deepEqual(next.reservedFor ?? [], before.reservedFor ?? [])) {
    const why = yield* refusal(verb, { subresource: 'binding', namespace: '', name: '' })
    const needs = `changing status.allocation or status.reservedFor requires resource="resourceclaims/binding", verb="${verb}" permission`
    if (why !== undefined) errors.push(forbidden(at.allocation, `${needs}: ${why}`))
  }
  // The state of devices goes with their allocation.
  const verbs = [...(isOnNode(ctx.user, nodeOf(next)) ? [`associated-node:${verb}`] : []), `arbitrary-node:${verb}`]
  for (const driver of next.allocation ? changedDrivers(next, before) : []) {
    const whys: (string | undefined)[] = []
    for (const each of verbs) whys.push(yield* refusal(each, { subresource: 'driver', namespace, name: driver }))
    const needs = `changing status.devices requires resource="resourceclaims/driver", verb="[${verbs.join(' ')}]" permission`
    if (!whys.includes(undefined)) errors.push(forbidden(at.devices, `${needs}: ${whys[0]}`))
  }
  if (errors.length > 0) throw invalidObject(resource, attributes.name, errors)
}

/** The drivers of devices that came, went or changed, in order. */
function changedDrivers({ devices = [] }: Status, { devices: old = [] }: Status): string[] {
  const keyOf = ({ driver, pool, device, shareID = '' }: Device) => JSON.stringify([driver, pool, device, shareID])
  const before = new Map(old.map(device => [keyOf(device), device]))
  const drivers = new Set<string>()
  for (const device of devices) {
    const known = before.get(keyOf(device))
    before.delete(keyOf(device))
    if (!known || !deepEqual(known, device)) drivers.add(device.driver)
  }
  for (const { driver } of before.values()) drivers.add(driver)
  return [...drivers].sort()
}

/** The one node that a claim is allocated for, where it is one by name. */
function nodeOf({ allocation }: Status): string | undefined {
  const [term, ...others] = allocation?.nodeSelector?.nodeSelectorTerms ?? []
  const [field, ...more] = term?.matchFields ?? []
  const isOne = others.length === 0 && more.length === 0 && (term?.matchExpressions ?? []).length === 0
  const isName = field?.key === 'metadata.name' && field.operator === 'In' && field.values?.length === 1
  return isOne && isName ? field.values![0] : undefined
}

/** Whether a user is a service account that runs on a node. */
function isOnNode({ name, extra = {} }: User, node: string | undefined): boolean {
  const names = Object.hasOwn(extra, NODE_NAME) ? extra[NODE_NAME]! : []
  return (
    node !== undefined &&
    readAccountUser(name) !== undefined &&
    names.length === 1 &&
    names[0] === node &&
    nameIsDNSSubdomain(node).length === 0
  )
}
