/**
 * Nobody reads through a policy what they may not read themselves: its messages, audit annotations and patches can repeat its parameters.
 * Policies that name a kind of parameters may be written by those who may get all objects of it, bindings by those who may read the
 * objects that they refer to. It cannot be turned off.
 */

import { deepEqual } from '../../lib/json-value.ts'
import type { Step } from '../../lib/step.ts'
import { type FieldError, forbidden, refTo } from '../../schema/refs.ts'
import type { Resource } from '../../schema/resource.ts'
import { invalidObject } from '../../schema/status-error.ts'
import type { User } from '../../schema/user.ts'
import type { Attributes } from '../attributes.ts'
import type { May } from '../permission.ts'
import type { Plugin } from '../plugin.ts'
import type { Reader } from '../reader.ts'

export type ParamsAccessParts = {
  readonly may: May
  readonly reader: Reader
  readonly resourceOf: (apiVersion: string, kind: string) => Resource | undefined
  readonly groupDomain: string
}

type ParamKind = { readonly apiVersion?: string; readonly kind?: string }
type Policy = { readonly paramKind?: ParamKind }
type Binding = { readonly policyName?: string; readonly paramRef?: { readonly name?: string; readonly namespace?: string } }

/** The policies of each kind of binding. */
const POLICIES: Readonly<Record<string, string>> = {
  validatingadmissionpolicybindings: 'validatingadmissionpolicies',
  mutatingadmissionpolicybindings: 'mutatingadmissionpolicies',
}

export function policyParamsAccess(parts: ParamsAccessParts): Plugin {
  const group = `admissionregistration.${parts.groupDomain}`
  return {
    name: 'PolicyParamsAccess',
    plurals: Object.entries(POLICIES).flat(),
    *validate(attributes) {
      const { resource, subresource, operation, object, ctx, name } = attributes
      if (resource.group !== group || subresource !== '' || !object || (operation !== 'CREATE' && operation !== 'UPDATE')) return
      if (ctx.user.groups.includes('system:masters')) return
      const policies = POLICIES[resource.plural]
      const error = policies === undefined ? yield* checkPolicy(attributes, parts) : yield* checkBinding(attributes, policies, parts)
      if (error) throw invalidObject(resource, name, [error])
    },
  }
}

function* checkPolicy({ object, oldObject, ctx }: Attributes, parts: ParamsAccessParts): Step<FieldError | undefined> {
  const { paramKind } = object!['spec'] as Policy
  const before = oldObject?.['spec'] as Policy | undefined
  if (!paramKind || deepEqual(paramKind, before?.paramKind)) return undefined
  const { resource } = resourceOfParams(paramKind, parts)
  const reading = { verb: 'get', path: '', resource: { ...resource, subresource: '', namespace: '*', name: '*' } }
  if (yield* parts.may(ctx.user, reading)) return undefined
  return forbidden(
    refTo({ spec: { paramKind } }).spec.paramKind,
    `user ${formatUser(ctx.user)} must have "get" permission on all objects of the referenced paramKind (kind=${paramKind.kind ?? ''}, apiVersion=${paramKind.apiVersion ?? ''})`,
  )
}

function* checkBinding(
  { resource: { group, version }, object, oldObject, ctx }: Attributes,
  policies: string,
  parts: ParamsAccessParts,
): Step<FieldError | undefined> {
  const { policyName = '', paramRef } = object!['spec'] as Binding
  const before = oldObject?.['spec'] as Binding | undefined
  // kube-apiserver compares the addresses of equal values, and so asks at every update; nothing is read then that was not before.
  if (!paramRef || (policyName === before?.policyName && deepEqual(paramRef, before.paramRef))) return undefined
  const policy = parts.reader.get({ group, version, plural: policies }, policyName)
  const paramKind = (policy?.['spec'] as Policy | undefined)?.paramKind
  const { resource, problem } = paramKind ? resourceOfParams(paramKind, parts) : { resource: ANY_RESOURCE, problem: undefined }
  const { name = '', namespace = '' } = paramRef
  const verb = name === '' ? 'list' : 'get'
  const reading = { verb, path: '', resource: { ...resource, subresource: '', namespace, name } }
  if (yield* parts.may(ctx.user, reading)) return undefined
  const user = formatUser(ctx.user)
  const unknown = !policy ? `get policy ${policyName}` : problem && `${problem} paramKind &{${paramKind!.apiVersion} ${paramKind!.kind}}`
  return forbidden(
    refTo({ spec: { paramRef } }).spec.paramRef,
    unknown
      ? `unable to ${unknown} to determine minimum required permissions and user ${user} does not have "${verb}" permission for all groups, versions and resources`
      : `user ${user} does not have "${verb}" permission on the object referenced by paramRef`,
  )
}

type ParamsResource = { readonly group: string; readonly version: string; readonly plural: string }
const ANY_RESOURCE: ParamsResource = { group: '*', version: '*', plural: '*' }

/** The resource of a kind of parameters. Where it is not known, it may be any of those that it could become. */
function resourceOfParams(
  { apiVersion = '', kind = '' }: ParamKind,
  { resourceOf }: ParamsAccessParts,
): { readonly resource: ParamsResource; readonly problem?: 'parse' | 'resolve' } {
  const parts = apiVersion === '' ? ['', ''] : apiVersion.split('/')
  if (parts.length > 2) return { resource: ANY_RESOURCE, problem: 'parse' }
  const [group, version] = parts.length === 1 ? ['', parts[0]!] : [parts[0]!, parts[1]!]
  const found = resourceOf(apiVersion, kind)
  return found ? { resource: { group, version, plural: found.plural } } : { resource: { group, version, plural: '*' }, problem: 'resolve' }
}

/** A user as Go prints one. */
function formatUser({ name, uid = '', groups, extra = {} }: User): string {
  const pairs = Object.keys(extra)
    .sort()
    .map(key => `${key}:[${extra[key]!.join(' ')}]`)
  return `&{${name} ${uid} [${groups.join(' ')}] map[${pairs.join(' ')}]}`
}
