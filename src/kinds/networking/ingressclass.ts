/** IngressClass names the controller of the Ingresses that refer to it. */
import { isDNS1123Subdomain, isDomainPrefixedPath, isValidPathSegmentName, nameIsDNSLabel } from '../../lib/names.ts'
import { age, NAME_DOC } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { type FieldError, forbidden, invalid, invalidEach, type Ref, required, tooLong, unsupported, withValue } from '../../schema/refs.ts'
import { message, type Static, string } from '../../schema/types.ts'

const IngressClassParametersReference = message('IngressClassParametersReference', {
  apiGroup: [1, string.optional(), 'API group of the object; the core group when absent.'],
  kind: [2, string.always(), 'Kind of the object.'],
  name: [3, string.always(), 'Name of the object.'],
  scope: [4, string.optional().default('Cluster'), 'Whether the object is of the cluster or of a namespace: Cluster or Namespace.'],
  namespace: [5, string.optional(), 'Namespace of the object; only, and always, with scope Namespace.'],
})
type Parameters = Static<typeof IngressClassParametersReference>

const IngressClassSpec = message('IngressClassSpec', {
  controller: [1, string, 'The controller that serves this class, as a domain and a path: example.com/controller. Cannot change.'],
  parameters: [2, IngressClassParametersReference, 'An object with further settings for the controller.'],
})

const MAX_CONTROLLER_BYTES = 250
const DEFAULT_CLASS = 'ingressclass.kubernetes.io/is-default-class'

export const IngressClass = defineKind({
  group: 'networking.{group_domain}',
  version: 'v1',
  kind: 'IngressClass',
  scope: 'Cluster',
  names: { plural: 'ingressclasses' },
  doc: 'Which controller serves an Ingress.',
  spec: IngressClassSpec,
  generation: true,

  *validateUpdate(o, old, { spec: at }) {
    if (o.spec.controller !== old.spec.controller) yield invalid(at.controller, 'field is immutable')
  },
  *validate({ spec: { controller = '', parameters } }, { spec: at }) {
    if (Buffer.byteLength(controller) > MAX_CONTROLLER_BYTES) yield tooLong(at.controller, MAX_CONTROLLER_BYTES)
    for (const fault of isDomainPrefixedPath(controller))
      yield fault.type === 'required' ? required(at.controller) : invalid(withValue(at.controller, fault.value), fault.message)
    if (parameters) yield* validateParameters(parameters, at.parameters)
  },

  columns: {
    Name: [
      'string',
      ({ metadata: { name, annotations } }) => (annotations?.[DEFAULT_CLASS] === 'true' ? `${name} (default)` : name),
      NAME_DOC,
      { format: 'name' },
    ],
    Controller: ['string', o => o.spec.controller ?? '', 'Controller that is responsible for handling this class'],
    Parameters: ['string', o => formatParameters(o.spec.parameters), 'A reference to a resource with additional parameters'],
    Age: age,
  },
})

/** An object of the kind IngressClass. */
export type IngressClass = ObjectOf<typeof IngressClass>

function* validateParameters({ apiGroup, kind, name, scope, namespace }: Parameters, at: Ref<Parameters>): Iterable<FieldError> {
  if (apiGroup !== undefined) yield* invalidEach(at.apiGroup, isDNS1123Subdomain(apiGroup))
  if (!kind) yield required(at.kind)
  else yield* invalidEach(at.kind, isValidPathSegmentName(kind))
  if (!name) yield required(at.name)
  else yield* invalidEach(at.name, isValidPathSegmentName(name))
  if (scope === 'Namespace') {
    if (namespace === undefined) yield required(at.namespace, "`parameters.scope` is set to 'Namespace'")
    else yield* invalidEach(at.namespace, nameIsDNSLabel(namespace))
  } else if (scope === 'Cluster') {
    if (namespace !== undefined) yield forbidden(at.namespace, "`parameters.scope` is set to 'Cluster'")
  } else yield unsupported(at.scope, 'Cluster', 'Namespace')
}

function formatParameters(parameters: Parameters | undefined): string {
  if (!parameters) return '<none>'
  const { apiGroup, kind, name } = parameters
  return `${kind}${apiGroup === undefined ? '' : `.${apiGroup}`}/${name}`
}
