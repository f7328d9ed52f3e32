/** The fields of a CustomResourceDefinition. */
import { atomic, bool, bytes, int32, int64, keyed, message, type Static, string, time } from '../../schema/types.ts'
import { JSONSchemaProps } from './json-schema.ts'

const ServiceReference = message(
  'ServiceReference',
  {
    namespace: [1, string.always(), 'Namespace of the service.'],
    name: [2, string.always(), 'Name of the service.'],
    path: [3, string.optional(), 'Path of the URL at which the webhook is called.'],
    port: [4, int32.optional(), 'Port of the service, 443 if unset.'],
  },
  {
    defaults(service) {
      service.port ??= 443
    },
  },
)

const WebhookClientConfig = message('WebhookClientConfig', {
  url: [3, string.optional(), 'Where the webhook is, as `https://host:port/path`.'],
  service: [1, ServiceReference, 'The service that answers for the webhook.'],
  caBundle: [2, bytes, 'Certificate authorities that the webhook is trusted by, in PEM.'],
})

const WebhookConversion = message('WebhookConversion', {
  clientConfig: [2, WebhookClientConfig, 'How the webhook is called: by exactly one of url and service.'],
  conversionReviewVersions: [3, atomic(string).always(), 'Versions of ConversionReview that the webhook understands, preferred first.'],
})

const CustomResourceConversion = message('CustomResourceConversion', {
  strategy: [1, string.always(), 'None changes nothing but the apiVersion; Webhook calls a webhook.'],
  webhook: [2, WebhookConversion, 'The webhook, for the strategy Webhook.'],
})

const CustomResourceDefinitionNames = message('CustomResourceDefinitionNames', {
  plural: [1, string.always(), 'The name in paths, in lower case; the definition is named PLURAL.GROUP.'],
  singular: [2, string, 'The singular name, in lower case; defaults to the kind in lower case.'],
  shortNames: [3, atomic(string), 'Abbreviations that clients accept, in lower case.'],
  kind: [4, string.always(), 'The kind of the objects, usually in CamelCase and singular.'],
  listKind: [5, string, 'The kind of lists of the objects; defaults to the kind followed by List.'],
  categories: [6, atomic(string), 'Groups of resources that this one is in, such as all.'],
})

const CustomResourceSubresourceScale = message('CustomResourceSubresourceScale', {
  specReplicasPath: [1, string.always(), 'Where the wanted size is, as a path under .spec.'],
  statusReplicasPath: [2, string.always(), 'Where the observed size is, as a path under .status.'],
  labelSelectorPath: [3, string.optional(), 'JSON path of the serialized label selector, under .spec or .status.'],
})

const CustomResourceSubresources = message('CustomResourceSubresources', {
  status: [1, message('CustomResourceSubresourceStatus', {}), 'Enables the status subresource.'],
  scale: [2, CustomResourceSubresourceScale, 'The size can be read and written through the path scale.'],
})

const CustomResourceColumnDefinition = message('CustomResourceColumnDefinition', {
  name: [1, string.always(), 'The title of the column.'],
  type: [2, string.always(), 'One of boolean, date, integer, number and string.'],
  format: [3, string, 'An OpenAPI format that says more about the type.'],
  description: [4, string, 'The meaning of the column.'],
  priority: [5, int32, 'Columns above 0 are left out where there is little space.'],
  jsonPath: [6, string.always(), 'Where the cell is in an object, as a simple JSON path.'],
})

const SelectableField = message('SelectableField', {
  jsonPath: [1, string.always(), 'The field, as a simple JSON path without array notation, such as `.spec.color`.'],
})

const CustomResourceValidation = message('CustomResourceValidation', {
  openAPIV3Schema: [1, JSONSchemaProps, 'The schema of objects.'],
})

const CustomResourceDefinitionVersion = message('CustomResourceDefinitionVersion', {
  name: [1, string.always(), 'The name of the version in paths, such as v1 or v2beta1.'],
  served: [2, bool.always(), 'Whether clients can use the version.'],
  storage: [3, bool.always(), 'Whether objects are stored in this version; exactly one has it.'],
  deprecated: [7, bool, 'Clients that use the version are warned.'],
  deprecationWarning: [8, string.optional(), 'The warning, where the usual one will not do.'],
  schema: [4, CustomResourceValidation, 'The schema of objects in this version.'],
  subresources: [5, CustomResourceSubresources, 'Parts of objects that have a path of their own.'],
  additionalPrinterColumns: [6, atomic(CustomResourceColumnDefinition), 'Columns of tables, in order; Age unless there are any.'],
  selectableFields: [9, atomic(SelectableField), 'Fields that field selectors may use, at most 8.'],
})

/** The spec of a definition. */
export const CustomResourceDefinitionSpec = message('CustomResourceDefinitionSpec', {
  group: [1, string.always(), 'The API group of the objects; the definition is named PLURAL.GROUP.'],
  names: [3, CustomResourceDefinitionNames.orEmpty().always(), 'How the objects are called.'],
  scope: [4, string.always(), 'Cluster or Namespaced.'],
  versions: [7, atomic(CustomResourceDefinitionVersion).always(), 'The versions of the objects, in the order of discovery.'],
  conversion: [9, CustomResourceConversion, 'How objects are converted between versions.'],
  preserveUnknownFields: [10, bool, 'Keeps fields that schemas do not describe. Cannot be set any more.'],
})

const CustomResourceDefinitionCondition = message('CustomResourceDefinitionCondition', {
  type: [1, string.always(), 'The type of the condition, such as Established or NamesAccepted.'],
  status: [2, string.always(), 'True, False or Unknown.'],
  lastTransitionTime: [3, time.always(), 'When the status last changed.'],
  reason: [4, string, 'The reason of the last transition, in CamelCase.'],
  message: [5, string, 'Why, in a sentence.'],
  observedGeneration: [6, int64, 'The generation that the condition was set for.'],
})

/** The status of a definition. */
export const CustomResourceDefinitionStatus = message('CustomResourceDefinitionStatus', {
  conditions: [1, keyed(CustomResourceDefinitionCondition, 'type').always().omittable(), 'Latest observations, such as Established.'],
  acceptedNames: [2, CustomResourceDefinitionNames.orEmpty(), 'The names that are served: those of the spec, where nothing else has them.'],
  storedVersions: [
    3,
    atomic(string).always().omittable(),
    'Every version in which objects may be stored. None of them can leave the spec.',
  ],
  observedGeneration: [4, int64, 'The generation that the server last dealt with.'],
})

export type Spec = Static<typeof CustomResourceDefinitionSpec>
export type Status = Static<typeof CustomResourceDefinitionStatus>
export type DefinitionCondition = Static<typeof CustomResourceDefinitionCondition>
export type DefinitionNames = Static<typeof CustomResourceDefinitionNames>
export type DefinitionVersion = Static<typeof CustomResourceDefinitionVersion>
export type Validation = Static<typeof CustomResourceValidation>
export type DefinitionSubresources = Static<typeof CustomResourceSubresources>
export type ColumnDefinition = Static<typeof CustomResourceColumnDefinition>
export type Conversion = Static<typeof CustomResourceConversion>
export type ClientConfig = Static<typeof WebhookClientConfig>
