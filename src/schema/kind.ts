/** A kind, declared: its fields, rules, subresources, selectable fields and columns. One file a kind; the server derives the rest. */
import type { NameCheck, NameRole } from '../lib/names.ts'
import type { Access } from './access.ts'
import type { Claims } from './claims.ts'
import type { CustomForm } from './custom-form.ts'
import type { AnyObject, Envelope } from './object-meta.ts'
import type { FieldError, Ref } from './refs.ts'
import type { StatusError } from './status-error.ts'
import type { Fields, Message, Type } from './types.ts'

export type User = {
  readonly name: string
  readonly uid?: string
  readonly groups: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

/** What a kind's hooks may know of the request. */
export type RequestContext = {
  readonly user: User
  readonly now: Date
  /** The domain of API groups and well-known names, `k8s.io` unless configured. */
  readonly groupDomain: string
  /** Whether a feature gate is on. */
  readonly gate: (name: string) => boolean
  /** A namespace as it is stored, for rules that ask about its labels. */
  readonly namespace?: ((name: string) => AnyObject | undefined) | undefined
}

/** What defaults may depend on beside the object. */
export type Moment = Pick<RequestContext, 'now' | 'groupDomain'>

export type KObject<S, St, F extends Fields = Record<never, never>> = Envelope &
  ([S] extends [never] ? unknown : { spec: S }) &
  ([St] extends [never] ? unknown : { status: St }) &
  Message<F>

export type Cell = string | number | bigint | boolean | null | undefined
/** Beside the object, what a cell may need: the time, for ages, and of tables of lists all that is listed. */
export type CellContext = { readonly now: Date; readonly list?: readonly AnyObject[] }
/** A table column; `format` is the OpenAPI format, `name` for the column that names the object. */
export type Column<O> = readonly [
  type: 'integer' | 'string' | 'date' | 'boolean' | 'number',
  get: (o: O, ctx: CellContext) => Cell,
  doc: string,
  options?: 'wide' | { readonly wide?: true; readonly format?: string; readonly priority?: number },
]

export type RowCondition = { readonly type: string; readonly status: string; readonly reason?: string; readonly message?: string }

/** Rules over a whole object; on updates `old` is what is stored. */
export type Rule<O> = (o: O, at: Ref<O>, ctx: RequestContext & { readonly old?: O }) => Iterable<FieldError>
/** Rules over a change. */
export type TransitionRule<O> = (o: O, old: O, at: Ref<O>, ctx: RequestContext) => Iterable<FieldError>

/** A part of an object written through its own path. */
export interface View<O> {
  /** What the write may change: takes over from the sent object into a copy of the stored one. Default: the part of the same name. */
  readonly take?: (sent: O, stored: O) => O
  /** Labels, annotations and the rest of metadata stay as stored. */
  readonly keepsMetadata?: true
  /** Fields that nobody comes to own through this path, as dotted paths. Default: all parts but the one of the same name. */
  readonly unowned?: readonly string[]
  readonly onUpdate?: (o: O, old: O, ctx: RequestContext) => void
  /** Replaces the kind's own rules for writes through this path. */
  readonly validate?: Rule<O>
  readonly transition?: TransitionRule<O>
  readonly verbs?: readonly Verb[]
}

/**
 * A message of another kind sent to an object. It either changes the object (`act`) or is a question about it (`answers`); both
 * may refuse by throwing a StatusError.
 */
export interface Action<O, I = any> {
  readonly input: {
    readonly group: string
    readonly version: string
    /** Versions that say the same in the same fields and are taken as well. */
    readonly alsoVersions?: readonly string[]
    readonly kind: string
    readonly type: Type<I, boolean>
  }
  readonly verbs: readonly ['create']
  /** Rejects a message that is wrong in itself, by throwing a StatusError; `name` is the one in the path. Plugins see it only after that. */
  readonly check?: (input: I & Envelope, name: string) => void
  /** Changes a copy of what is stored and returns it, or `delete` to store the changed copy and then delete it with the options of the message. */
  readonly act?: (o: O, input: I & Envelope, ctx: RequestContext) => O | 'delete'
  /** Completes and checks a message that is a question, before plugins see it. */
  readonly complete?: (o: O, input: I & Envelope, asked: Asked) => void
  /** The message with the answer filled in, and what clients are warned of. The object stays as it is, and is not to be changed. */
  readonly answers?: (o: O, input: I & Envelope, asked: Asked) => Promise<Answered<I & Envelope>>
  /** Who has to agree first. */
  readonly consent?: Consent<O, I>
  /** What the caller gets back. Default: a Status of success. */
  readonly answer?: 'object' | 'status'
}

export type Answered<I> = { readonly answer: I; readonly warnings?: readonly string[] }
/** What those who answer questions may know of the request and of the server. */
export type Asked = RequestContext & { readonly signal: AbortSignal; readonly access: Access }

/** The object that has to agree, if any; and where the action is allowed only while the object stays as it is, what happens when it has changed. */
export type Consented<H> = { readonly other?: H; readonly ifChanged?: 'retry' | StatusError }

/** Objects of another kind in the same namespace that have a say in an action. Where that kind is not served, nobody has. */
export interface Consent<O, I = any, H = any> {
  readonly kind: Kind<H>
  /** Who has to agree, if anybody. May refuse by throwing a StatusError. */
  asks(o: O, input: I & Envelope, others: readonly H[]): Consented<H>
  /** Notes in a copy of that one that it has agreed, or refuses by throwing a StatusError. What is noted is stored before the action. */
  gives(other: H, o: O, ctx: RequestContext): void
  /** The view of it that is written. */
  readonly subresource: string
}

/** Where a scalable kind keeps its size. */
export interface ScaleView<O> {
  /** The field that holds the wanted size, for its owners. Default: `spec.replicas`. */
  readonly path?: string
  /** Undefined where an object need not have a size and this one has none. */
  readonly replicas: (o: O) => number | undefined
  readonly setReplicas: (o: O, replicas: number) => void
  readonly observed: (o: O) => number
  /** The selector in its text form. */
  readonly selector: (o: O) => string
}

export interface Subresources<O> {
  readonly status?: View<O>
  readonly scale?: ScaleView<O>
  /** Further views such as `approval`, `finalize`, `ephemeralcontainers`. */
  readonly views?: Readonly<Record<string, View<O>>>
  /** Further messages such as `binding`, `eviction`. */
  readonly actions?: Readonly<Record<string, Action<O>>>
  /** Paths that need a running node: answered clearly, listed in discovery. */
  readonly connect?: Readonly<Record<string, { readonly kind: string; readonly verbs: readonly Verb[] }>>
}

/** A part of the running server and what is wrong with it, if anything. */
export type ServerPart = { readonly name: string; readonly problem?: string | undefined }

/** What answers for a kind whose objects are never stored. */
export interface Unstored<O> {
  /** A create is a message to the object of the same name and namespace in another resource. */
  readonly sentTo?: { readonly group: string; readonly version: string; readonly plural: string; readonly action: string }
  /** Gets and lists tell of the server as it is at the moment. */
  readonly tells?: (parts: readonly ServerPart[]) => readonly O[]
  /** A create is a question: returns what was sent with the answer filled in, or refuses by throwing a StatusError. Rules hold already. */
  readonly answers?: (o: O, asked: Asked) => O | Promise<O>
}

export type Verb = 'create' | 'delete' | 'deletecollection' | 'get' | 'list' | 'patch' | 'update' | 'watch'
export type Propagation = 'Orphan' | 'Background' | 'Foreground'
/** What is wrong with a name, or with the prefix of one to be generated. */
export type NameRule = (name: string, role?: NameRole) => readonly string[]

/**
 * Another kind whose objects these are, told in another form, such as an older version of it. One set of objects is stored,
 * in the form of the hub; this kind shows them in its own and takes writes in it. Hooks, rules, subresources, deletion,
 * columns and the rest are the hub's and see its form; a kind with a hub declares its names, its fields and its defaults.
 */
export interface Hub<O, H = any> {
  readonly kind: Kind<H>
  /** The object in the form of the hub. Whatever can be said in this form must come back from there; apiVersion and kind are taken care of. */
  readonly toHub: (o: O) => Omit<H, 'apiVersion' | 'kind'>
  /** The object in this form. What it has no fields for has to go into annotations, or is lost to whoever reads, changes and writes it. */
  readonly fromHub: (h: H) => Omit<O, 'apiVersion' | 'kind'>
  /** The names that fieldSelector has for fields here, each with the name that the hub has for it. Default: those of the hub. */
  readonly selectable?: Readonly<Record<string, string>>
  /** Replace the hub's rules, over its form, for writes through this kind. */
  validate?(o: H, at: Ref<H>, ctx: RequestContext & { readonly old?: H }): Iterable<FieldError>
  transition?(o: H, old: H, at: Ref<H>, ctx: RequestContext): Iterable<FieldError>
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
  /** What clients of a kind on its way out are told with every answer. */
  readonly deprecated?: string
  /** The desired state, protobuf field 2, written even when empty. */
  readonly spec?: Type<S, boolean>
  /** The observed state, protobuf field 3, written only through its subresource. */
  readonly status?: Type<St, boolean>
  /** Top-level fields of kinds that are not spec and status. */
  readonly fields?: F

  /** The kind whose objects these are, in another form. */
  readonly hub?: Hub<O>
  /** Of a kind that was defined while the server runs, what takes the place of `spec`, `status` and `fields`. */
  readonly custom?: CustomForm

  /** What names are valid. Default: a DNS subdomain. */
  readonly name?: NameCheck
  /** Verbs served. Default: all. */
  readonly verbs?: readonly Verb[]
  /** Descriptions of the API tell clients to send metadata. */
  readonly expectsMetadata?: true
  /** Nothing of the kind is stored: what it is for is done, or found out, at once. */
  readonly unstored?: Unstored<O>
  /** Where discovery says its objects are stored, when not in this group's preferred version of it. */
  readonly storedAs?: { readonly group?: string; readonly version: string }
  /** Fields that nobody comes to own through plain writes, as dotted paths. Default: the status. */
  readonly unowned?: readonly string[]
  /** Changes of spec (or of what the function returns) move metadata.generation. */
  readonly generation?: true | ((o: O) => unknown)
  /** A replace of an absent name creates it. */
  readonly createOnUpdate?: true
  /** The status of a new object is taken as it was sent; other kinds begin with an empty one. */
  readonly createsWithStatus?: true
  /** A replace must carry a resourceVersion. */
  readonly needsResourceVersion?: true

  /** Fills what depends on several fields; runs after the types' own defaults. */
  readonly defaults?: (o: O, moment: Moment) => void
  /** Server-owned changes before validation on create; the status has been cleared already. */
  readonly onCreate?: (o: O, ctx: RequestContext) => void
  readonly onUpdate?: (o: O, old: O, ctx: RequestContext) => void
  readonly validate?: Rule<O>
  readonly transition?: TransitionRule<O>
  readonly warn?: (o: O, old: O | undefined, ctx: RequestContext) => Iterable<string>

  /** What its objects take from stocks that all of them share. */
  readonly claims?: Claims<O>

  readonly deletion?: {
    /** Seconds of grace when the request names none; undefined deletes at once. May depend on the object. */
    readonly grace?: (o: O, asked: number | undefined) => number | undefined
    /** What happens to dependents when the request does not say; `Unsupported` for kinds that never have any. Default: Background. */
    readonly propagation?: Propagation | 'Unsupported'
    /** Deletion answers with the object instead of a Status. */
    readonly answers?: 'object'
    /** A first deletion only marks the object; it goes when its own `spec.finalizers` are gone too. */
    readonly hasSpecFinalizers?: true
    readonly onMark?: (o: O, ctx: RequestContext) => void
    /** A first deletion only marks the object and runs this, which must leave a finalizer: whoever takes that away ends the object. */
    readonly onFirst?: (o: O, ctx: RequestContext) => void
    /** Rules that must hold before the object may be deleted. */
    readonly check?: (o: O, ctx: RequestContext) => Iterable<FieldError>
  }
  /** Seconds after a write at which the object goes by itself. */
  readonly ttlSeconds?: number

  readonly subresources?: Subresources<O>
  /** Fields usable in fieldSelector beside metadata.name and metadata.namespace. Absent reads as the empty text. */
  readonly selectable?: Readonly<Record<string, (o: O) => string | number | boolean | undefined>>
  readonly selecting?: {
    /** A namespaced kind that cannot be selected by metadata.namespace. */
    readonly withoutNamespace?: true
    /** How other fields than the selectable ones are refused, where clients know a text of the kind's own. */
    readonly refusal?: (field: string, of: { readonly apiVersion: string; readonly kind: string }) => string
  }
  /** What a table says of a row as a whole, such as that the object has done its work. */
  readonly rowConditions?: (o: O) => readonly RowCondition[]
  /** Table columns after Name, in order; without any, Age. A kind that declares a column Name itself gets no other. */
  readonly columns?: Readonly<Record<string, Column<O>>>
  /** Annotations that stand for something outside of metadata: answers of metadata alone leave them out. */
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
