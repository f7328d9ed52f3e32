/** Compiles a CustomResourceDefinition to resources, one for each version, which are served like those of built-in kinds. */
import type { DefinitionNames, DefinitionVersion, Spec } from '../kinds/apiextensions/definition-shapes.ts'
import type { Fence } from '../lib/fence.ts'
import type { JsonObject } from '../lib/json-value.ts'
import { byPreference } from '../registry/catalog.ts'
import type { CustomSchema } from '../schema/custom-schema.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { customResource, type Definition, type Resource, type VersionConversion } from '../schema/resource.ts'
import { forbiddenRequest } from '../schema/status-error.ts'
import { publishedSchema } from '../structural/published.ts'
import type { JsonSchema } from '../structural/schema.ts'
import { printerColumns } from './columns.ts'
import { type CustomDefinition, storageVersion } from './definition.ts'
import { finalizerWarnings, objectRules } from './rules.ts'
import { scaleSubresource } from './scale.ts'
import { selectableFields } from './selectable.ts'
import { conformCustom, fillCustomDefaults, reviver, VersionSchema } from './version-schema.ts'

/** Converts objects to a served version with a webhook. */
export type Converter = NonNullable<VersionConversion['convert']>

export type Compiling = {
  readonly names: DefinitionNames
  /** Set where conversion is not for the server to do. */
  readonly convert?: Converter | undefined
  readonly state: State
}

/** State of a kind that changes without new resources; running requests see it, too. */
export type State = {
  terminating: boolean
  /** The definition as it is now: objects are created only while it is unchanged. */
  readonly fence: () => Fence
}

/** The resources of one definition. */
export type CompiledKind = {
  /** The resource under which objects are stored and cached. It is not served itself. */
  readonly storedVersion: Resource
  readonly served: readonly Resource[]
}

/** Compiles a definition under the names it has been given. Throws when it cannot be served. */
export function compileDefinition(definition: CustomDefinition, { names, convert, state }: Compiling): CompiledKind {
  const versions = definition.spec.versions ?? []
  const storage = storageVersion(definition)
  const schemas = new Map(versions.map(version => [apiVersionOf(definition, version), schemaOf(definition, version)]))
  const parts: Parts = { definition, names, storage, schemas, state, isAsked: convert !== undefined }
  // Cached objects can be selected by the fields of any version.
  const selectable = selectableFields(versions)
  const storedVersion = customResource({ ...definitionOf(parts, storage), ...(selectable && { selectable }) }, [])
  const resources: Resource[] = []
  const served: Resource[] = []
  for (const version of versions) {
    const conversion = conversionOf(storedVersion, version, { isStorage: version === storage, convert })
    const resource = customResource(definitionOf(parts, version), resources, conversion)
    if (version.served) served.push(resource)
  }
  return { storedVersion, served }
}

type Parts = {
  readonly definition: CustomDefinition
  readonly names: DefinitionNames
  readonly storage: DefinitionVersion
  readonly schemas: ReadonlyMap<string, VersionSchema>
  readonly state: State
  readonly isAsked: boolean
}

function schemaOf({ spec }: CustomDefinition, { schema }: DefinitionVersion): VersionSchema {
  return new VersionSchema(schema?.openAPIV3Schema as JsonSchema | undefined, { preserve: spec.preserveUnknownFields === true })
}

/**
 * How a served version is converted from and to the stored one. Without a webhook conversion only changes the apiVersion, and
 * stored objects are read in the storage version. With one, stored objects may be in any version, and even the storage version
 * needs the webhook.
 */
function conversionOf(
  storedVersion: Resource,
  version: DefinitionVersion,
  { isStorage, convert }: { isStorage: boolean; convert: Converter | undefined },
): VersionConversion | undefined {
  if (!convert && isStorage) return undefined
  const apiVersion = `${storedVersion.group}/${version.name}`
  const withVersion = (object: AnyObject, as: string): AnyObject => ({ ...object, apiVersion: as })
  return {
    storedVersion,
    toStored: object => withVersion(object, storedVersion.apiVersion),
    fromStored: object => withVersion(object, apiVersion),
    fieldName: name => name,
    ...(convert && { convert }),
  }
}

function definitionOf(parts: Parts, version: DefinitionVersion): Definition {
  const { definition, names, storage, schemas } = parts
  const { spec } = definition
  const schema = schemas.get(apiVersionOf(definition, version))!
  const { status, scale } = version.subresources ?? {}
  const parameters = { schema, scale }
  const deprecated = deprecationOf(spec, version.name)
  const selectable = selectableFields([version])
  return {
    group: spec.group,
    version: version.name,
    kind: names.kind,
    scope: spec.scope as 'Namespaced' | 'Cluster',
    names: {
      plural: names.plural,
      singular: names.singular ?? '',
      list: names.listKind ?? '',
      short: names.shortNames ?? [],
      categories: names.categories ?? [],
    },
    ...(deprecated !== undefined && { deprecated }),
    custom: customSchemaOf(parts, version, schema),
    storedAs: { version: storage.name },
    generation: status ? withoutStatus : content,
    allowUnconditionalUpdate: false,
    unqualifiedFinalizers: true,
    resetFields: status ? ['status'] : [],
    ...(status && { prepareForCreate: dropStatus, prepareForUpdate: keepStatus }),
    validate: objectRules(parameters),
    warn: finalizerWarnings,
    subresources: {
      ...(status && {
        status: {
          merge: takeStatus,
          keepsMetadata: true,
          resetFields: ['metadata', 'spec'],
          validate: objectRules(parameters, 'status'),
        },
      }),
      ...(scale && { scale: scaleSubresource(scale) }),
    },
    ...(selectable && { selectable }),
  }
}

const VERBS = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch']
const LAST_VERBS = ['delete', 'deletecollection', 'get', 'list', 'watch']

function customSchemaOf(
  { definition, names, storage, schemas, state, isAsked }: Parts,
  version: DefinitionVersion,
  schema: VersionSchema,
): CustomSchema {
  const { spec } = definition
  const subject = { group: spec.group, plural: names.plural, kind: names.kind }
  return {
    get type() {
      return schema.type
    },
    conform: (value, duplicates) => conformCustom(schema, value, duplicates),
    fillDefaults: object => fillCustomDefaults(schema, object),
    revive: reviver({ schemas, into: isAsked ? undefined : `${spec.group}/${storage.name}` }),
    published: (dialect, metadata) => published(schema, { version: dialect, metadata, selectable: version.selectableFields ?? [] }),
    columns: printerColumns(version.additionalPrinterColumns),
    get advertised() {
      return state.terminating ? LAST_VERBS : VERBS
    },
    beforeCreate(name) {
      if (state.terminating) throw forbiddenRequest(subject, name, 'create not allowed while custom resource definition is terminating')
      return state.fence()
    },
  }
}

const apiVersionOf = ({ spec }: CustomDefinition, { name }: DefinitionVersion) => `${spec.group}/${name}`

/** The part that counts for the generation: everything but metadata, and but the status where that has a path of its own. */
const content = ({ metadata: _, ...rest }: AnyObject) => rest
const withoutStatus = ({ metadata: _, status: __, ...rest }: AnyObject) => rest

function dropStatus(object: AnyObject): void {
  delete object['status']
}

function keepStatus(object: AnyObject, old: AnyObject): void {
  if (Object.hasOwn(old, 'status')) object['status'] = old['status']
  else delete object['status']
}

function takeStatus(sent: AnyObject, stored: AnyObject): AnyObject {
  const { status: _, ...rest } = stored
  return (Object.hasOwn(sent, 'status') ? { ...rest, status: sent['status'] } : rest) as AnyObject
}

type Publishing = {
  readonly version: 2 | 3
  /** How the document refers to the metadata of objects. */
  readonly metadata: JsonObject
  readonly selectable: readonly { readonly jsonPath: string }[]
}

/** The OpenAPI schema of a version, with its selectable fields. */
function published({ described, preserve }: VersionSchema, { version, metadata, selectable }: Publishing): JsonObject {
  if (preserve && version === 2) return { type: 'object' }
  const schema = publishedSchema(described, { version, metadata })
  if (version === 2 || selectable.length === 0) return schema
  return { ...schema, 'x-kubernetes-selectable-fields': selectable.map(({ jsonPath }) => ({ fieldPath: jsonPath.replace(/^\./, '') })) }
}

/** The warning that clients of a version get; undefined for one that is not deprecated. */
function deprecationOf({ group, names, versions }: Spec, name: string): string | undefined {
  const version = versions?.find(v => v.name === name)
  if (!version?.deprecated) return undefined
  if (version.deprecationWarning !== undefined) return version.deprecationWarning
  const newer = (versions ?? []).filter(v => v.served && !v.deprecated && byPreference(v.name, name) < 0).map(v => v.name)
  const [best] = newer.sort(byPreference)
  const warning = `${group}/${name} ${names.kind} is deprecated`
  return best === undefined ? warning : `${warning}; use ${group}/${best} ${names.kind}`
}
