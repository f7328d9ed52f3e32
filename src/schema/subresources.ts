/** The subresources of a kind: parts of an object that are updated, messages that are created for it, paths that connect to it. */
import type { Kind, Verb } from './kind.ts'
import type { Envelope } from './object-meta.ts'
import type { RequestContext, ReviewContext } from './request-context.ts'
import type { Rule, UpdateRule } from './rules.ts'
import type { StatusError } from './status-error.ts'
import type { Fields, Type } from './types.ts'

export interface Subresources<O> {
  readonly status?: UpdateSubresource<O>
  readonly scale?: ScaleSubresource<O>
  /** Further parts that are updated, such as `approval`, `finalize`, `ephemeralcontainers`. */
  readonly updates?: Readonly<Record<string, UpdateSubresource<O>>>
  /** Messages that are created, such as `binding`, `eviction`, `token`. */
  readonly creates?: Readonly<Record<string, CreateSubresource<O>>>
  /** Paths that the node of an object serves, such as `exec` and `log`. */
  readonly connect?: Readonly<Record<string, ConnectSubresource>>
}

/** A path that connects to a pod, service or node. */
export interface ConnectSubresource {
  /** The kind of the options in the query, for admission. */
  readonly kind: string
  readonly verbs: readonly Verb[]
  /** The fields of the options, in order: strings, booleans, and lists of strings or ports. */
  readonly options?: Fields
  /** Read-only paths skip admission. */
  readonly isRead?: true
  /** A verb that the user must be allowed to use whatever the method is, while the gate is on: a WebSocket is opened with GET. */
  readonly needs?: { readonly verb: Verb; readonly gate: string }
  /** Rejects an invalid query by throwing a StatusError, before the object is looked up; `name` is that of the object. */
  readonly check?: (query: URLSearchParams, name: string, gate: (name: string) => boolean) => void
  /** The error for an absent object, if not 404; `asked` is the name in the path. */
  readonly absent?: (asked: string) => StatusError | undefined
  /** Names in its path may have a scheme and a port: `https:name:8443`. */
  readonly isAddressed?: true
}

/** A part of an object that is read and updated through its own path. */
export interface UpdateSubresource<O> {
  /**
   * Copies the fields that the write may change from the received object into a copy of the stored one. Default: the field named like the
   * subresource.
   */
  readonly merge?: (sent: O, stored: O) => O
  /** Labels, annotations and the rest of metadata stay as stored. */
  readonly keepsMetadata?: true
  /**
   * Fields that no manager owns after a write through this path, as dotted paths. Default: all but the field named like the subresource.
   */
  readonly resetFields?: readonly string[]
  readonly prepareForUpdate?: (o: O, old: O, ctx: RequestContext) => void
  /** Replaces the kind's own rules for writes through this path. */
  readonly validate?: Rule<O>
  readonly validateUpdate?: UpdateRule<O>
  /** The warnings of writes through this path, which have none of the kind's own. */
  readonly warn?: (o: O, old: O, ctx: RequestContext) => Iterable<string>
  readonly verbs?: readonly Verb[]
}

/**
 * A message of another kind, created for an object. It either changes the object (`change`) or is a review that does not (`review`); both
 * refuse by throwing a StatusError.
 */
export interface CreateSubresource<O, I = any> {
  readonly input: {
    readonly group: string
    readonly version: string
    /** Further versions with the same fields that are accepted. */
    readonly alsoVersions?: readonly string[]
    readonly kind: string
    readonly type: Type<I, boolean>
  }
  readonly verbs: readonly ['create']
  /** Rejects an invalid message by throwing a StatusError; `name` is the one in the path. Admission validates the message after that. */
  readonly check?: (input: I & Envelope, name: string) => void
  /** Changes a copy of the stored object and returns it, or `delete` to store the changed copy and then delete it with the message's options. */
  readonly change?: (o: O, input: I & Envelope, ctx: RequestContext) => O | 'delete'
  /** Completes and checks a review, before admission validates it. */
  readonly prepare?: (o: O, input: I & Envelope, ctx: ReviewContext) => void
  /** Returns the message with its status filled in, and warnings. The object must not be changed. */
  readonly review?: (o: O, input: I & Envelope, ctx: ReviewContext) => Promise<Reviewed<I & Envelope>>
  /** An object of another kind that has to approve first. */
  readonly guard?: Guard<O, I>
  /** The body of the response. Default: a Status of success. */
  readonly returns?: 'object' | 'status'
}

export type Reviewed<I> = { readonly object: I; readonly warnings?: readonly string[] }

/**
 * The object whose approval a change needs. Where a change is allowed only while the object stays as it is, `ifChanged` tells whether a
 * concurrent change leads to another decision or to a conflict.
 */
export type Approval<H> = { readonly other?: H; readonly ifChanged?: 'retry' | StatusError }

/** Objects of another kind in the same namespace that may forbid a change. If that kind is not served, nothing is forbidden. */
export interface Guard<O, I = any, H = any> {
  readonly kind: Kind<H>
  /** The object that has to approve, if any. May refuse by throwing a StatusError. */
  find(o: O, input: I & Envelope, others: readonly H[]): Approval<H>
  /** Records the approval in a copy of that object, which is stored before the change; or refuses by throwing a StatusError. */
  approve(other: H, o: O, ctx: RequestContext): void
  /** The subresource of that object that is written. */
  readonly subresource: string
}

/** The replicas of a scalable kind. */
export interface ScaleSubresource<O> {
  /** The field with the desired replicas, for field ownership. Default: `spec.replicas`. */
  readonly path?: string
  /** Undefined if replicas are optional and this object has none. */
  readonly replicas: (o: O) => number | undefined
  readonly setReplicas: (o: O, replicas: number) => void
  readonly observed: (o: O) => number
  /** The selector as a string. */
  readonly selector: (o: O) => string
}
