/** CustomResourceDefinition adds a kind to the server: its names, versions and schemas. */
import { compareText, goQuote } from '../../lib/go-text.ts'
import { timestampOf } from '../../lib/time.ts'
import { createdAt } from '../../schema/columns.ts'
import { conditionOf, isConditionTrue, transitionTime, withCondition } from '../../schema/conditions.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { isKnownFormat } from '../../structural/formats.ts'
import { definitionWork } from './compile-expressions.ts'
import { validateDefinition, validateNames } from './definition-rules.ts'
import {
  CustomResourceDefinitionSpec,
  CustomResourceDefinitionStatus,
  type DefinitionCondition,
  type Spec,
  type Status,
} from './definition-shapes.ts'
import { layoutOf } from './layout.ts'
import { eachSchema, itemSchema } from './schema-walk.ts'

export const CustomResourceDefinition = defineKind({
  group: 'apiextensions.{group_domain}',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  scope: 'Cluster',
  names: { plural: 'customresourcedefinitions', short: ['crd', 'crds'], categories: ['api-extensions'] },
  keepsEmptyLists: true,
  doc: 'A kind that is served beside the built-in ones. Its name is that of the resource and the group: PLURAL.GROUP.',
  unqualifiedFinalizers: true,
  spec: CustomResourceDefinitionSpec.expected(),
  status: CustomResourceDefinitionStatus,
  generation: true,
  allowUnconditionalUpdate: false,
  storedAs: { version: 'v1beta1' },

  defaults({ spec, status }) {
    const { names } = spec
    names.singular ||= names.kind.toLowerCase()
    if (names.singular === '') delete names.singular
    if (names.kind !== '') names.listKind ||= `${names.kind}List`
    spec.conversion ??= { strategy: 'None' }
    if (!status.storedVersions?.length) noteStorageVersion(spec, status)
  },
  prepareForCreate({ spec, status }) {
    dropEmptyWebhook(spec)
    noteStorageVersion(spec, status)
  },
  prepareForUpdate({ spec, status }) {
    dropEmptyWebhook(spec)
    noteStorageVersion(spec, status)
  },
  validate: validateDefinition,
  ruleWork: ({ spec }) => definitionWork(spec),
  mayBeLarge: true,
  warn: (o, old) => warnAboutSchemas(o.spec, old?.spec),

  deletion: {
    /** The finalizer is removed once the custom objects are deleted. */
    onFirst(o, { now, groupDomain }) {
      const finalizer = cleanupFinalizer(groupDomain)
      if (!o.metadata.finalizers?.includes(finalizer)) o.metadata.finalizers = [...(o.metadata.finalizers ?? []), finalizer]
      setCondition(o.status, { type: 'Terminating', status: 'True', ...DELETION_PENDING }, now)
    },
  },
  subresources: {
    status: {
      prepareForUpdate({ status }, { status: old }, { gate }) {
        if (gate('CRDObservedGenerationTracking') || tracksGenerations(old)) return
        for (const each of [status, ...(status.conditions ?? [])]) delete each.observedGeneration
      },
      *validate({ status }, { status: at }) {
        yield* validateNames(status.acceptedNames, at.acceptedNames)
      },
    },
  },

  columns: {
    Scope: ['string', o => o.spec.scope, 'Cluster/Namespaced'],
    Versions: ['string', o => servedVersions(o.spec), 'Served versions'],
    'Created At': createdAt,
    Group: ['string', o => o.spec.group, 'API group', 'wide'],
    Kind: ['string', o => o.spec.names.kind, 'CustomResource kind', 'wide'],
    ShortNames: ['string', o => (o.spec.names.shortNames ?? []).join(','), 'Short names', 'wide'],
    Established: ['boolean', o => isConditionTrue(o.status.conditions, 'Established'), 'Established status', 'wide'],
  },
})

/** An object of the kind CustomResourceDefinition. */
export type CustomResourceDefinition = ObjectOf<typeof CustomResourceDefinition>

/** The finalizer that keeps a definition until its custom objects are deleted. */
export const cleanupFinalizer = (groupDomain: string) => `customresourcecleanup.apiextensions.${groupDomain}`

const DELETION_PENDING = {
  reason: 'InstanceDeletionPending',
  message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
}

const tracksGenerations = (status: Status): boolean =>
  [status, ...(status.conditions ?? [])].some(({ observedGeneration }) => observedGeneration)

/** Sets a condition, or updates the one of its type; its time changes only with its status. */
export function setCondition(status: Status, condition: Omit<DefinitionCondition, 'lastTransitionTime'>, now: Date): void {
  const before = conditionOf(status.conditions, condition.type)
  const { type, status: value, reason, message, observedGeneration = before?.observedGeneration } = condition
  status.conditions = withCondition(status.conditions, {
    type,
    status: value,
    lastTransitionTime: transitionTime(before, value, timestampOf(now)),
    ...(reason ? { reason } : {}),
    ...(message ? { message } : {}),
    ...(observedGeneration ? { observedGeneration } : {}),
  })
}

/** Records the storage version, in which objects are stored from now on; objects may still be stored in others. */
function noteStorageVersion({ versions }: Spec, status: Status): void {
  const storage = versions?.find(version => version.storage)
  if (storage && !status.storedVersions?.includes(storage.name)) status.storedVersions = [...(status.storedVersions ?? []), storage.name]
}

/** An empty webhook configuration counts as absent. */
function dropEmptyWebhook({ conversion }: Spec): void {
  const webhook = conversion?.webhook
  if (webhook && !webhook.clientConfig && !webhook.conversionReviewVersions) delete conversion.webhook
}

function servedVersions({ versions }: Spec): string {
  const served = (versions ?? []).filter(version => version.served).map(({ name, storage }) => (storage ? `${name}(storage)` : name))
  return served.sort(compareText).join(',')
}

/** Warns about unrecognized formats and sets that cannot be merged, unless the stored definition has them already. */
function* warnAboutSchemas(spec: Spec, old: Spec | undefined): Iterable<string> {
  // An update of the status leaves the spec as it is.
  if (spec === old) return
  const known = old && oddities(old)
  const { formats, unmergedSets } = oddities(spec)
  for (const format of formats) if (!known?.formats.has(format)) yield `unrecognized format ${goQuote(format)}`
  for (const warning of unmergedSets) if (!known?.unmergedSets.includes(warning)) yield warning
}

type Oddities = { readonly formats: ReadonlySet<string>; readonly unmergedSets: readonly string[] }

/** Each format that is not recognized, and a warning for each type of items that makes sets which cannot be merged. */
function oddities(spec: Spec): Oddities {
  const formats = new Set<string>()
  const types = new Set<string>()
  // A schema that all versions share counts once.
  const { shared, versions } = layoutOf(spec)
  for (const part of [shared, ...versions])
    for (const schema of eachSchema(part.schema?.openAPIV3Schema)) {
      const { format, type } = schema
      if (format && !isKnownFormat(format, type ? [type] : [])) formats.add(format)
      const items = schema['x-kubernetes-list-type'] === 'set' ? itemSchema(schema)?.type : undefined
      if (items === 'object' || items === 'array') types.add(items)
    }
  const unmergedSets = [...types].map(
    type => `x-kubernetes-list-type: set for items of type "${type}" is not supported by server-side apply or CEL validation rules`,
  )
  return { formats, unmergedSets: unmergedSets.sort(compareText) }
}
