/** PriorityLevelConfiguration limits the share of the server for requests of one level, and queues or rejects the others. */
import { deepEqual } from '../../lib/json-value.ts'
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { type FieldError, forbidden, invalid, type Ref, required, unsupported, withValue } from '../../schema/refs.ts'
import { int32, message, type Static, string } from '../../schema/types.ts'
import { internalRepresentation } from '../rules/internal-representation.ts'
import { looseConditions, validateLooseConditions } from './conditions.ts'

const QueuingConfiguration = message('QueuingConfiguration', {
  queues: [1, int32.default(64).openapiDefault(0), 'How many queues there are.'],
  handSize: [2, int32.default(8).openapiDefault(0), 'Among how many queues each flow may choose.'],
  queueLengthLimit: [3, int32.default(50).openapiDefault(0), 'How many requests wait in a queue before others are refused.'],
})
type Queuing = Static<typeof QueuingConfiguration>

const LimitResponse = message(
  'LimitResponse',
  {
    type: [1, string.always(), 'The treatment of requests beyond the limit: Queue or Reject.'],
    queuing: [2, QueuingConfiguration, 'How they are queued; only with Queue.'],
  },
  { union: { by: 'type' } },
)
type LimitResponse = Static<typeof LimitResponse>

const LimitedPriorityLevelConfiguration = message('LimitedPriorityLevelConfiguration', {
  nominalConcurrencyShares: [1, int32.optional().default(30), 'Its share of the server, compared with the shares of other levels.'],
  limitResponse: [2, LimitResponse.orEmpty().expected(), 'The treatment of requests beyond the limit.'],
  lendablePercent: [3, int32.optional().default(0), 'How much of its share other levels may borrow.'],
  borrowingLimitPercent: [4, int32.optional(), 'How much it may borrow, compared with its share; without end when absent.'],
})
type Limited = Static<typeof LimitedPriorityLevelConfiguration>

const ExemptPriorityLevelConfiguration = message('ExemptPriorityLevelConfiguration', {
  nominalConcurrencyShares: [1, int32.optional().default(0), 'The share of the concurrency of the server that is reserved for it.'],
  lendablePercent: [2, int32.optional().default(0), 'How much of that other levels may borrow.'],
})
type Exempt = Static<typeof ExemptPriorityLevelConfiguration>

const PriorityLevelConfigurationSpec = message(
  'PriorityLevelConfigurationSpec',
  {
    type: [1, string.always(), 'Whether requests are limited: Limited or Exempt.'],
    limited: [2, LimitedPriorityLevelConfiguration, 'The limits; only with Limited.'],
    exempt: [3, ExemptPriorityLevelConfiguration, 'The reserved share; only with Exempt.'],
  },
  { union: { by: 'type' } },
)
type Spec = Static<typeof PriorityLevelConfigurationSpec>

const PriorityLevelConfigurationStatus = message('PriorityLevelConfigurationStatus', {
  conditions: [1, looseConditions('PriorityLevelConfigurationCondition'), 'Latest observations.'],
})

export const PriorityLevelConfiguration = defineKind({
  group: 'flowcontrol.apiserver.{group_domain}',
  version: 'v1',
  kind: 'PriorityLevelConfiguration',
  scope: 'Cluster',
  names: { plural: 'prioritylevelconfigurations' },
  doc: 'How much of the server the requests of one level get.',
  spec: PriorityLevelConfigurationSpec.expected(),
  status: PriorityLevelConfigurationStatus,
  generation: true,

  *validate({ metadata: { name = '', annotations = {} }, spec }, at, { groupDomain }) {
    const key = `flowcontrol.${groupDomain}/v1beta3-preserve-zero-concurrency-shares`
    if (Object.hasOwn(annotations, key)) yield forbidden(at.metadata.annotations, `annotation '${key}' is forbidden`)
    yield* validateSpec(spec, at.spec, name)
    yield* validateFixed(spec, at.spec, name)
    yield* validateParts(spec, at.spec)
  },

  subresources: {
    status: { keepsMetadata: true, validate: ({ status }, { status: at }) => validateLooseConditions(status.conditions, at.conditions) },
  },

  columns: {
    Type: [
      'string',
      o => o.spec.type,
      '`type` indicates whether this priority level is subject to limitation on request execution.  A value of `"Exempt"` means that requests of this priority level are not subject to a limit (and thus are never queued) and do not detract from the capacity made available to other priority levels.  A value of `"Limited"` means that (a) requests of this priority level _are_ subject to limits and (b) some of the server\'s limited capacity is made available exclusively to this priority level. Required.',
    ],
    NominalConcurrencyShares: [
      'string',
      o => o.spec.limited?.nominalConcurrencyShares ?? '<none>',
      '`nominalConcurrencyShares` (NCS) contributes to the computation of the NominalConcurrencyLimit (NominalCL) of this level. This is the number of execution seats available at this priority level. This is used both for requests dispatched from this priority level as well as requests dispatched from other priority levels borrowing seats from this level. The server\'s concurrency limit (ServerCL) is divided among the Limited priority levels in proportion to their NCS values:\n\nNominalCL(i)  = ceil( ServerCL * NCS(i) / sum_ncs ) sum_ncs = sum[priority level k] NCS(k)\n\nBigger numbers mean a larger nominal concurrency limit, at the expense of every other priority level.\n\nIf not specified, this field defaults to a value of 30.\n\nSetting this field to zero supports the construction of a "jail" for this priority level that is used to hold some request(s)',
    ],
    Queues: [
      'string',
      o => o.spec.limited?.limitResponse.queuing?.queues ?? '<none>',
      '`queues` is the number of queues for this priority level. The queues exist independently at each apiserver. The value must be positive.  Setting it to 1 effectively precludes shufflesharding and thus makes the distinguisher method of associated flow schemas irrelevant.  This field has a default value of 64.',
    ],
    HandSize: [
      'string',
      o => o.spec.limited?.limitResponse.queuing?.handSize ?? '<none>',
      "`handSize` is a small positive number that configures the shuffle sharding of requests into queues.  When enqueuing a request at this priority level the request's flow identifier (a string pair) is hashed and the hash value is used to shuffle the list of queues and deal a hand of the size specified here.  The request is put into one of the shortest queues in that hand. `handSize` must be no larger than `queues`, and should be significantly smaller (so that a few heavy flows do not saturate most of the queues).  See the user-facing documentation for more extensive guidance on setting this field.  This field has a default value of 8.",
    ],
    QueueLengthLimit: [
      'string',
      o => o.spec.limited?.limitResponse.queuing?.queueLengthLimit ?? '<none>',
      '`queueLengthLimit` is the maximum number of requests allowed to be waiting in a given queue of this priority level at a time; excess requests are rejected.  This value must be positive.  If not specified, it will be defaulted to 50.',
    ],
    Age: age,
  },
})

/** An object of the kind PriorityLevelConfiguration. */
export type PriorityLevelConfiguration = ObjectOf<typeof PriorityLevelConfiguration>

function* validateSpec({ type, limited, exempt }: Spec, at: Ref<Spec>, name: string): Iterable<FieldError> {
  if ((name === 'exempt') !== (type === 'Exempt')) yield invalid(at.type, "must be 'Exempt' if and only if `name` is 'exempt'")
  if (type === 'Exempt') {
    if (exempt) yield* validateExempt(exempt, at.exempt)
  } else if (type === 'Limited') {
    if (limited) yield* validateLimited(limited, at.limited)
  } else if (type) yield unsupported(at.type, 'Exempt', 'Limited')
}

/** Each type requires the field of its name and allows no other. Reported after everything else. */
function* validateParts({ type, limited, exempt }: Spec, at: Ref<Spec>): Iterable<FieldError> {
  if (type !== 'Exempt' && exempt) yield forbidden(at.exempt, '')
  if (type !== 'Limited' && limited) yield forbidden(at.limited, '')
  if (type === 'Limited' && !limited) yield required(at.limited)
  if (!type) yield required(at.type)
  if (!limited) return
  const { type: response, queuing } = limited.limitResponse
  const here = at.limited.limitResponse
  if (response !== 'Queue' && queuing) yield forbidden(here.queuing, '')
  if (response === 'Queue' && !queuing) yield required(here.queuing)
  if (!response) yield required(here.type)
}

function* validateExempt({ nominalConcurrencyShares: shares, lendablePercent }: Exempt, at: Ref<Exempt>): Iterable<FieldError> {
  if (shares < 0) yield invalid(at.nominalConcurrencyShares, 'must be a non-negative integer')
  yield* validatePercent(lendablePercent, at.lendablePercent)
}

function* validateLimited(limited: Limited, at: Ref<Limited>): Iterable<FieldError> {
  const { nominalConcurrencyShares, limitResponse, lendablePercent, borrowingLimitPercent = 0 } = limited
  if (nominalConcurrencyShares < 0) yield invalid(at.nominalConcurrencyShares, 'must be a non-negative integer')
  yield* validateResponse(limitResponse, at.limitResponse)
  yield* validatePercent(lendablePercent, at.lendablePercent)
  if (borrowingLimitPercent < 0) yield invalid(at.borrowingLimitPercent, 'if specified, must be a non-negative integer')
}

function* validatePercent(percent: number, at: Ref<number>): Iterable<FieldError> {
  if (percent < 0 || percent > 100) yield invalid(at, 'must be between 0 and 100, inclusive')
}

function* validateResponse({ type, queuing }: LimitResponse, at: Ref<LimitResponse>): Iterable<FieldError> {
  if (type === 'Queue') {
    if (queuing) yield* validateQueuing(queuing, at.queuing)
  } else if (type && type !== 'Reject') yield unsupported(at.type, 'Queue', 'Reject')
}

const MAX_QUEUES = 10_000_000
/** Hands are dealt from a 64-bit hash, of which this many bits are evenly distributed. */
const HASH_BITS = 60

function* validateQueuing({ queues, handSize, queueLengthLimit }: Queuing, at: Ref<Queuing>): Iterable<FieldError> {
  if (queueLengthLimit <= 0) yield invalid(at.queueLengthLimit, 'must be positive')
  if (queues <= 0) yield invalid(at.queues, 'must be positive')
  else if (queues > MAX_QUEUES) yield invalid(at.queues, `must not be greater than ${MAX_QUEUES}`)
  if (handSize <= 0) yield invalid(at.handSize, 'must be positive')
  else if (handSize > queues) yield invalid(at.handSize, `should not be greater than queues (${queues})`)
  else if (Math.ceil(Math.log2(queues) * handSize) > HASH_BITS)
    yield invalid(
      at.handSize,
      `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${HASH_BITS}`,
    )
}

/** The last level: every server needs it unchanged. */
const CATCH_ALL: Spec = {
  type: 'Limited',
  limited: { nominalConcurrencyShares: 5, limitResponse: { type: 'Reject' }, lendablePercent: 0 },
}

/** Two levels are immutable. */
function* validateFixed(spec: Spec, at: Ref<Spec>, name: string): Iterable<FieldError> {
  const shown = withValue(at, internalRepresentation(PriorityLevelConfigurationSpec, spec))
  if (name === 'exempt' && (spec.type !== 'Exempt' || spec.limited))
    yield invalid(shown, `spec of '${name}' except the 'spec.exempt' field must equal the fixed value`)
  if (name === 'catch-all' && !deepEqual(spec, CATCH_ALL)) yield invalid(shown, `spec of '${name}' must equal the fixed value`)
}
