/** APIService registers the server of one version of an API group. */
import { goQuote } from '../../lib/go-text.ts'
import { isDNS1035Label, isDNS1123Subdomain, isValidPathSegmentName, isValidPortNum, nameIsPathSegment } from '../../lib/names.ts'
import { timestampOf } from '../../lib/time.ts'
import { age } from '../../schema/columns.ts'
import { conditionOf } from '../../schema/conditions.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { type FieldError, invalid, invalidEach, type Ref, required, unsupported, withValue } from '../../schema/refs.ts'
import { bool, bytes, int32, keyed, message, type Static, string } from '../../schema/types.ts'
import { formerCondition } from '../rules/former-condition.ts'

const ServiceReference = message('ServiceReference', {
  namespace: [1, string, 'Namespace of the service.'],
  name: [2, string, 'Name of the service.'],
  port: [3, int32.optional().default(443), 'Port of the service.'],
})

const APIServiceSpec = message('APIServiceSpec', {
  service: [1, ServiceReference, 'The service that answers; this server itself when absent.'],
  group: [2, string, 'The API group.'],
  version: [3, string, 'The version of the group.'],
  insecureSkipTLSVerify: [4, bool, 'Trusts the service without looking at its certificate.'],
  caBundle: [5, bytes, 'Certificate authorities that the service is trusted by, in PEM.'],
  groupPriorityMinimum: [7, int32.always(), 'Groups with a higher number are preferred by clients.'],
  versionPriority: [8, int32.always(), 'Versions with a higher number are listed first in their group.'],
})
type Spec = Static<typeof APIServiceSpec>

const APIServiceStatus = message('APIServiceStatus', {
  conditions: [1, keyed(formerCondition('APIServiceCondition'), 'type').mergedBy('type'), 'Latest observations, such as Available.'],
})

export const APIService = defineKind({
  group: 'apiregistration.{group_domain}',
  version: 'v1',
  kind: 'APIService',
  scope: 'Cluster',
  names: { plural: 'apiservices', categories: ['api-extensions'] },
  keepsEmptyLists: true,
  doc: 'Which server answers for a version of an API group.',
  unqualifiedFinalizers: true,
  spec: APIServiceSpec,
  status: APIServiceStatus,
  name: nameIsPathSegment,
  allowUnconditionalUpdate: false,

  prepareForCreate({ spec, status }, { now }) {
    if (spec.service) return
    const lastTransitionTime = timestampOf(now)
    status.conditions = [{ type: 'Available', status: 'True', lastTransitionTime, ...LOCAL }]
  },
  *validate({ metadata, spec }, at) {
    const wanted = `${spec.version ?? ''}.${spec.group ?? ''}`
    for (const field of ['generateName', 'name'] as const) {
      const name = metadata[field] ?? ''
      if (name !== wanted && !(field === 'generateName' && name === '') && isValidPathSegmentName(name).length === 0)
        yield invalid(at.metadata[field], `must be \`spec.version+"."+spec.group\`: ${goQuote(wanted)}`)
    }
    yield* validateVersion(spec, at.spec)
    yield* validateService(spec, at.spec)
  },

  subresources: {
    status: {
      keepsMetadata: true,
      *validate({ status: { conditions = [] } }, { status: at }) {
        for (const [i, { status }] of conditions.entries())
          if (!STATUSES.includes(status)) yield unsupported(at.conditions[i]!.status, ...STATUSES)
      },
    },
  },

  columns: {
    Service: [
      'string',
      ({ spec: { service } }) => (service ? `${service.namespace ?? ''}/${service.name ?? ''}` : 'Local'),
      'The reference to the service that hosts this API endpoint.',
    ],
    Available: ['string', o => availability(o.status), 'Whether this service is available.'],
    Age: age,
  },
})

/** An object of the kind APIService. */
export type APIService = ObjectOf<typeof APIService>

const LOCAL = { reason: 'Local', message: 'Local APIServices are always available' }
const STATUSES = ['True', 'False', 'Unknown']

function* validateVersion({ group = '', version = '', groupPriorityMinimum, versionPriority }: Spec, at: Ref<Spec>): Iterable<FieldError> {
  if (group === '' && version !== 'v1') yield required(at.group, 'only v1 may have an empty group and it better be legacy kube')
  if (group !== '') yield* invalidEach(at.group, isDNS1123Subdomain(group))
  yield* invalidEach(at.version, isDNS1035Label(version))
  if (groupPriorityMinimum <= 0 || groupPriorityMinimum > 20_000)
    yield invalid(at.groupPriorityMinimum, 'must be positive and less than 20000')
  if (versionPriority <= 0 || versionPriority > 1000) yield invalid(at.versionPriority, 'must be positive and less than 1000')
}

function* validateService({ service, caBundle = '', insecureSkipTLSVerify }: Spec, at: Ref<Spec>): Iterable<FieldError> {
  if (!service) {
    const size = Buffer.from(caBundle, 'base64').length
    if (size > 0) yield invalid(withValue(at.caBundle, `${size} bytes`), 'local APIServices may not have a caBundle')
    if (insecureSkipTLSVerify) yield invalid(at.insecureSkipTLSVerify, 'local APIServices may not have insecureSkipTLSVerify')
    return
  }
  if (!service.namespace) yield required(at.service.namespace)
  if (!service.name) yield required(at.service.name)
  const faults = isValidPortNum(service.port)
  if (faults.length > 0) yield invalid(at.service.port, `port is not valid: ${faults.join(', ')}`)
  if (insecureSkipTLSVerify && caBundle !== '') yield invalid(at.insecureSkipTLSVerify, 'may not be true if caBundle is present')
}

function availability({ conditions = [] }: Static<typeof APIServiceStatus>): string {
  const condition = conditionOf(conditions, 'Available')
  if (!condition) return 'Unknown'
  const { status, reason } = condition
  return status !== 'True' && reason ? `${status} (${reason})` : status
}
