/** ResourceQuota bounds the total usage of a namespace. */
import { getOwn } from '../../lib/json-value.ts'
import { compareQuantity, parseQuantity } from '../../lib/quantity.ts'
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { entry, type FieldError, invalid, type Ref, required, withValue } from '../../schema/refs.ts'
import { atomic, mapOf, message, quantity, type Static, string } from '../../schema/types.ts'
import {
  isQuotaHugePageResource,
  isStandardResourceName,
  validateResourceName,
  validateResourceQuantity,
} from '../rules/pod/resources/resource-rules.ts'
import { roundAmounts } from '../rules/pod/resources/resources.ts'

const SCOPE_NAMES: readonly string[] = [
  'BestEffort',
  'CrossNamespacePodAffinity',
  'NotBestEffort',
  'NotTerminating',
  'PriorityClass',
  'Terminating',
  'VolumeAttributesClass',
]

export const ScopedResourceSelectorRequirement = message('ScopedResourceSelectorRequirement', {
  scopeName: [1, string.listed(...SCOPE_NAMES).always(), 'The scope that the requirement applies to.'],
  operator: [2, string.listed('DoesNotExist', 'Exists', 'In', 'NotIn').always(), 'How it is compared: In, NotIn, Exists or DoesNotExist.'],
  values: [3, atomic(string), 'The values that it is compared with; empty for Exists and DoesNotExist.'],
})
type Requirement = Static<typeof ScopedResourceSelectorRequirement>

const ScopeSelector = message('ScopeSelector', {
  matchExpressions: [1, atomic(ScopedResourceSelectorRequirement), 'Conditions on scopes; all must hold.'],
}).atomic()

const ResourceQuotaSpec = message(
  'ResourceQuotaSpec',
  {
    hard: [1, mapOf(quantity), 'The most of each resource.'],
    scopes: [2, atomic(string.listed(...SCOPE_NAMES)), 'The scopes of counted objects; all objects when empty. Cannot change.'],
    scopeSelector: [3, ScopeSelector, 'The same, with values to compare with.'],
  },
  { defaults: ({ hard }) => roundAmounts(hard) },
)
type Spec = Static<typeof ResourceQuotaSpec>

const ResourceQuotaStatus = message(
  'ResourceQuotaStatus',
  {
    hard: [1, mapOf(quantity), 'The limits that are in force.'],
    used: [2, mapOf(quantity), 'The current usage.'],
  },
  { defaults: ({ hard, used }) => roundAmounts(hard, used) },
)

export const ResourceQuota = defineKind({
  group: '',
  version: 'v1',
  kind: 'ResourceQuota',
  scope: 'Namespaced',
  names: { plural: 'resourcequotas', short: ['quota'] },
  doc: 'Limits on the total usage of a namespace.',
  spec: ResourceQuotaSpec,
  status: ResourceQuotaStatus,

  *validate({ spec }, { spec: at }, { old }) {
    yield* validateAmounts(spec.hard, at.hard)
    yield* validateScopes(spec, at)
    yield* validateScopeSelector(spec, at)
    if (old && !sameSet(spec.scopes, old.spec.scopes)) yield invalid(withValue(at.scopes, spec.scopes ?? null), 'field is immutable')
  },
  *warn({ spec: { hard = {} } }, old) {
    if (!old) yield* warnAboutRequests(hard)
  },

  deletion: { returns: 'object' },

  subresources: {
    status: {
      *validate({ status }, { status: at }) {
        yield* validateAmounts(status.hard, at.hard)
        yield* validateAmounts(status.used, at.used)
      },
    },
  },

  columns: {
    Request: ['string', o => usage(o.status, false), 'Request represents a minimum amount of cpu/memory that a container may consume.'],
    Limit: [
      'string',
      o => usage(o.status, true),
      'Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node.',
    ],
    Age: age,
  },
})

/** An object of the kind ResourceQuota. */
export type ResourceQuota = ObjectOf<typeof ResourceQuota>

type Amounts = Record<string, string>

function* validateAmounts(amounts: Amounts | undefined, at: Ref<Amounts>): Iterable<FieldError> {
  for (const [name, amount] of Object.entries(amounts ?? {})) {
    const here = entry(at, name)
    yield* validateResourceName(name, here)
    if (!name.includes('/') && !isQuotaResource(name)) yield invalid(withValue(here, name), 'must be a standard resource for quota')
    yield* validateResourceQuantity(name, amount, here)
  }
}

/** Storage itself is not counted, only requests for it. */
const isQuotaResource = (name: string) => (name !== 'storage' && isStandardResourceName(name)) || isQuotaHugePageResource(name)

const PODS = ['pods']
const COMPUTE = ['cpu', 'memory', 'limits.cpu', 'limits.memory', 'requests.cpu', 'requests.memory']
/** The standard resources that each scope can limit. */
const SCOPES: ReadonlyMap<string, readonly string[]> = new Map([
  ['Terminating', [...PODS, ...COMPUTE]],
  ['NotTerminating', [...PODS, ...COMPUTE]],
  ['BestEffort', PODS],
  ['NotBestEffort', [...PODS, ...COMPUTE]],
  ['PriorityClass', [...PODS, ...COMPUTE]],
  ['CrossNamespacePodAffinity', [...PODS, ...COMPUTE]],
  ['VolumeAttributesClass', ['persistentvolumeclaims', 'requests.storage']],
])
/** Scopes without values to compare. */
const PLAIN_SCOPES = ['BestEffort', 'NotBestEffort', 'Terminating', 'NotTerminating', 'CrossNamespacePodAffinity']
const OPPOSITES = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
] as const

/** The number of limited resources that a scope does not support. */
const unsupportedCount = (scope: string, { hard = {} }: Spec) => {
  const fitting = SCOPES.get(scope)
  return fitting ? Object.keys(hard).filter(name => isQuotaResource(name) && !fitting.includes(name)).length : 0
}

const conflicts = (scopes: readonly string[]) => OPPOSITES.filter(([a, b]) => scopes.includes(a) && scopes.includes(b)).length

function* validateScopes(spec: Spec, { scopes: at }: Ref<Spec>): Iterable<FieldError> {
  const scopes = spec.scopes ?? []
  for (const scope of scopes) {
    if (!SCOPES.has(scope)) yield invalid(at, 'unsupported scope')
    for (let i = unsupportedCount(scope, spec); i > 0; i--) yield invalid(at, 'unsupported scope applied to resource')
  }
  for (let i = conflicts(scopes); i > 0; i--) yield invalid(at, 'conflicting scopes')
}

function* validateScopeSelector(spec: Spec, { scopeSelector: at }: Ref<Spec>): Iterable<FieldError> {
  const requirements = spec.scopeSelector?.matchExpressions ?? []
  // Paths have no index of the requirement, as in kube-apiserver.
  const here = at.matchExpressions
  for (const requirement of requirements) {
    const { scopeName } = requirement
    const there = withValue(here, requirement)
    if (!SCOPES.has(scopeName)) yield invalid(there.scopeName, 'unsupported scope')
    for (let i = unsupportedCount(scopeName, spec); i > 0; i--)
      yield invalid(withValue(here, shown(requirements)), 'unsupported scope applied to resource')
    yield* validateRequirement(requirement, there)
  }
  for (let i = conflicts(requirements.map(r => r.scopeName)); i > 0; i--)
    yield invalid(withValue(here, spec.scopes ?? null), 'conflicting scopes')
}

function* validateRequirement({ scopeName, operator, values = [] }: Requirement, at: Ref<Requirement>): Iterable<FieldError> {
  if (PLAIN_SCOPES.includes(scopeName) && operator !== 'Exists') yield invalid(at.operator, MUST_EXIST)
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length === 0) yield required(at.values, "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector")
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (values.length > 0) yield invalid(at.values, "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector")
  } else yield invalid(at.operator, 'not a valid selector operator')
}

const MUST_EXIST =
  "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"

/** The selector with the field names of kube-apiserver's internal type. */
const shown = (requirements: readonly Requirement[]) => ({
  MatchExpressions: requirements.map(({ scopeName, operator, values }) => ({
    ScopeName: scopeName,
    Operator: operator,
    Values: values ?? null,
  })),
})

function sameSet(a: readonly string[] = [], b: readonly string[] = []): boolean {
  const [inA, inB] = [new Set(a), new Set(b)]
  return inA.size === inB.size && a.every(x => inB.has(x))
}

/** Requests above the limits can never be used up. */
function* warnAboutRequests(hard: Amounts): Iterable<string> {
  for (const name of ['cpu', 'memory', 'storage', 'ephemeral-storage']) {
    const isBare = getOwn(hard, `requests.${name}`) === undefined && (name === 'cpu' || name === 'memory')
    const requestName = isBare ? name : `requests.${name}`
    const [request, limit] = [getOwn(hard, requestName), getOwn(hard, `limits.${name}`)]
    if (request !== undefined && limit !== undefined && compareQuantity(parseQuantity(request), parseQuantity(limit)) > 0)
      yield `ResourceQuota ${requestName} (${request}) should be less than limits.${name} (${limit})`
  }
}

function usage({ hard = {}, used = {} }: Static<typeof ResourceQuotaStatus>, ofLimits: boolean): string {
  const names = Object.keys(hard).filter(name => name.startsWith('limits.') === ofLimits)
  return names
    .sort()
    .map(name => `${name}: ${getOwn(used, name) ?? '0'}/${hard[name]}`)
    .join(', ')
}
