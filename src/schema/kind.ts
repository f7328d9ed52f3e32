/** The declaration of a kind: fields, rules, subresources, selectable fields and columns. One file per kind; the server derives the rest. */
import type { NameCheck } from '../lib/names.ts'
import type { Claims } from './claims.ts'
import type { Column, RowCondition } from './columns.ts'
import type { CustomSchema } from './custom-schema.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { AnyObject, Envelope } from './object-meta.ts'
import type { FieldError, FieldErrors, Ref } from './refs.ts'
import type { DefaultingContext, RequestContext, ReviewContext } from './request-context.ts'
import type { Rule, UpdateRule } from './rules.ts'
import type { Subresources } from './subresources.ts'
import type { Fields, Message, Type } from './types.ts'

export type KObject<S, St, F extends Fields = Record<never, never>> = Envelope &
  ([S] extends [never] ? unknown : { spec: S }) &
  ([St] extends [never] ? unknown : { status: St }) &
  Message<F>

/** A component of the running server and its error, if any. */
export type ComponentHealth = { readonly name: string; readonly problem?: string | undefined }

/** Serves a kind whose objects are never stored. */
export interface Virtual<O> {
  /** A create is forwarded to this subresource of the object of the same name and namespace. */
  readonly forwardsTo?: { readonly group: string; readonly version: string; readonly plural: string; readonly subresource: string }
  /** Get and list return the server's components. */
  readonly list?: (components: readonly ComponentHealth[]) => readonly O[]
  /**
   * A create is a review: returns the received object, already validated, with its status filled in, or refuses by throwing a StatusError.
   */
  readonly review?: (o: O, ctx: ReviewContext) => O | Promise<O>
  /** The name of the data source in the server. */
  readonly source?: string
}

export type Verb = 'create' | 'delete' | 'deletecollection' | 'get' | 'list' | 'patch' | 'update' | 'watch'
export type Propagation = 'Orphan' | 'Background' | 'Foreground'

/**
 * Conversion of a served version, such as an older API version, from and to the version that is stored. Hooks, rules,
 * subresources, deletion, columns and the rest are those of the stored version and see objects in it; a kind with a conversion
 * declares its names, fields and defaults.
 */
export interface ConversionSpec<O, H = any> {
  readonly storedVersion: Kind<H>
  /** The object in the stored version; must round-trip. The server sets apiVersion and kind. */
  readonly toStored: (o: O) => Omit<H, 'apiVersion' | 'kind'>
  /**
   * The object in this version. Values without a field in this version must go into annotations, or a client that reads, changes and writes
   * the object loses them.
   */
  readonly fromStored: (h: H) => Omit<O, 'apiVersion' | 'kind'>
  /** Field selector names of this version, each with the name in the stored version. Default: those of the stored version. */
  readonly selectable?: Readonly<Record<string, string>>
  /** Replaces the rules of the stored version, on objects in the stored version, for writes through this version. */
  validate?(o: H, at: Ref<H>, ctx: RequestContext & { readonly old?: H }, found?: readonly FieldError[]): FieldErrors
  validateUpdate?(o: H, old: H, at: Ref<H>, ctx: RequestContext): Iterable<FieldError>
}

export interface KindSpec<S, St, F extends Fields, O = KObject<S, St, F>> {
  /** With the spec's placeholder: `networking.{group_domain}`; empty for the core group. */
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly scope: 'Namespaced' | 'Cluster'
  readonly names: {
    readonly plural: string
    readonly singular?: string
    /** Default: the kind with `List` after it. */
    readonly list?: string
    readonly short?: readonly string[]
    readonly categories?: readonly string[]
  }
  readonly doc?: string
  /** The releases that serve this version; without it, every release that can be emulated does. */
  readonly lifecycle?: Lifecycle
  /** The feature gate that must be on for the kind to be served. */
  readonly gate?: string
  /** Further versions with the same fields, defaults and rules. A version with other fields is a kind of its own, with a `conversion`. */
  readonly otherVersions?: Readonly<Record<string, Lifecycle>>
  /** The warning that every response carries if the kind is deprecated. */
  readonly deprecated?: string
  /** Its objects are secrets: bodies of requests are recorded for nobody. */
  readonly isConfidential?: true
  /** The desired state, protobuf field 2, written even when empty. */
  readonly spec?: Type<S, boolean>
  /** The observed state, protobuf field 3, written only through its subresource. */
  readonly status?: Type<St, boolean>
  /** Top-level fields of kinds that are not spec and status. */
  readonly fields?: F

  /** For a version that is served but not stored. */
  readonly conversion?: ConversionSpec<O>
  /** Stored as JSON by kube-apiserver, which distinguishes an empty list from an absent one. */
  readonly keepsEmptyLists?: true
  /** For kinds that are defined at run time, replaces `spec`, `status` and `fields`. */
  readonly custom?: CustomSchema

  /** The rule for names. Default: a DNS subdomain. */
  readonly name?: NameCheck
  /** Finalizers need no domain. */
  readonly unqualifiedFinalizers?: true
  /** Verbs served. Default: all. */
  readonly verbs?: readonly Verb[]
  /** OpenAPI tells clients to send metadata. */
  readonly expectsMetadata?: true
  /** Objects of the kind are never stored. */
  readonly virtual?: Virtual<O>
  /**
   * The group version takes the place of a server that may be added to the cluster: an APIService that names that server's Service takes it
   * over.
   */
  readonly replaceable?: true
  /** Group and version that discovery's storage hash is computed from, if not the group's preferred version. */
  readonly storedAs?: { readonly group?: string; readonly version: string }
  /** Fields of an empty object, beside those of its type: bookmarks of kube-apiserver are such objects. */
  readonly blank?: Readonly<Record<string, object>>
  /** The name of the resource in kube-apiserver's etcd keys, where that is not the plural. */
  readonly keptUnder?: string
  /** Fields that no manager owns after a plain write, as dotted paths. Default: the status. */
  readonly resetFields?: readonly string[]
  /** A change of spec (or of the function's result) increments metadata.generation. */
  readonly generation?: true | ((o: O) => unknown)
  /** The feature gate without which generations are not counted. */
  readonly generationGate?: string
  /** A PUT of a name that does not exist creates the object. */
  readonly allowCreateOnUpdate?: true
  /** The feature gate without which plain writes set the status as well. */
  readonly statusGate?: string
  /** The status of a new object is kept as received; other kinds start with an empty one. */
  readonly keepsStatusOnCreate?: true
  /** A PUT must carry a resourceVersion. */
  readonly allowUnconditionalUpdate?: false

  /** Defaults that depend on several fields; runs after the types' own defaults. */
  readonly defaults?: (o: O, ctx: DefaultingContext) => void
  /** Changes before validation on create; the status has been cleared already. */
  readonly prepareForCreate?: (o: O, ctx: RequestContext) => void
  readonly prepareForUpdate?: (o: O, old: O, ctx: RequestContext) => void
  readonly validate?: Rule<O>
  /**
   * About how much work `validate` takes (`schema/rule-work.ts`), where that can be very much: such objects are validated in a worker.
   * Kinds that have this are listed in `kinds/kinds-with-expressions.ts`.
   */
  readonly ruleWork?: (o: O) => number
  /** Objects may hold as many values as custom ones (`registry/value-limits.ts`): every step of a write lets others run. */
  readonly mayBeLarge?: true
  readonly validateUpdate?: UpdateRule<O>
  readonly warn?: (o: O, old: O | undefined, ctx: RequestContext) => Iterable<string>

  /** The allocations of its objects from shared ranges, such as cluster IPs. */
  readonly claims?: Claims<O>

  readonly deletion?: {
    /** The default grace period in seconds; undefined deletes immediately. May depend on the object. */
    readonly grace?: (o: O, asked: number | undefined) => number | undefined
    /** The default propagation policy; `Unsupported` for kinds that never have dependents. Default: Background. */
    readonly propagation?: Propagation | 'Unsupported'
    /** A warning for clients that do not set a propagation policy. */
    readonly propagationWarning?: string
    /** Deletion returns the object instead of a Status. */
    readonly returns?: 'object'
    /** The first deletion only marks the object; it is removed when its `spec.finalizers` are gone too. */
    readonly hasSpecFinalizers?: true
    readonly onMark?: (o: O, ctx: RequestContext) => void
    /** The first deletion only marks the object and runs this, which must leave a finalizer; removing that finalizer removes the object. */
    readonly onFirst?: (o: O, ctx: RequestContext) => void
    /** Rules that must hold before the object may be deleted. */
    readonly check?: (o: O, ctx: RequestContext) => Iterable<FieldError>
  }
  /** Seconds after a write until the object expires. */
  readonly ttlSeconds?: number

  readonly subresources?: Subresources<O>
  /** Fields usable in fieldSelector beside metadata.name and metadata.namespace. An absent value counts as the empty string. */
  readonly selectable?: Readonly<Record<string, (o: O) => string | number | boolean | undefined>>
  readonly fieldSelectors?: {
    /** The field whose values watchers divide among them: a watch of one value is told about few of the writes. */
    readonly dividing?: string
    /** A namespaced kind that cannot be selected by metadata.namespace. */
    readonly withoutNamespace?: true
    /** The error for a field that is not selectable, where it differs from that of other kinds. */
    readonly unsupported?: (field: string, of: { readonly apiVersion: string; readonly kind: string }) => string
  }
  /** The order of table rows, where it is not that of the list. */
  readonly rowOrder?: (a: O, b: O) => number
  /** Conditions of a table row, such as Completed. */
  readonly rowConditions?: (o: O) => readonly RowCondition[]
  /** Table columns after Name, in order; the default is Age. A kind that declares a column Name itself gets no other. */
  readonly columns?: Readonly<Record<string, Column<O>>>
  /** Annotations that encode data outside of metadata: left out of metadata-only responses. */
  readonly bodyAnnotations?: readonly string[]
}

declare const OBJECT: unique symbol
export interface Kind<O = AnyObject> {
  readonly name: string
  readonly def: KindSpec<any, any, any, any>
  readonly [OBJECT]?: O
}
export type ObjectOf<K> = K extends Kind<infer O> ? O : never

export function defineKind<S = never, St = never, const F extends Fields = Record<never, never>>(
  def: KindSpec<S, St, F>,
): Kind<KObject<S, St, F>> {
  return Object.freeze({ name: `${def.kind}.${def.version}.${def.group}`, def }) as Kind<KObject<S, St, F>>
}

/** A kind and its other versions with the same fields, each as a kind. */
export function* eachVersion(kind: Kind<any>): Iterable<Kind<any>> {
  yield kind
  const { otherVersions = {}, ...def } = kind.def
  for (const [version, lifecycle] of Object.entries(otherVersions))
    yield defineKind({
      ...def,
      version,
      lifecycle,
      conversion: { ...def.conversion, storedVersion: kind, toStored: same, fromStored: same },
    })
}
const same = <T>(object: T): T => object
