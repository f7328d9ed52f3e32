/** The namespace of a request as webhooks, policies and authorizers see it. */
import type { Attributes } from './attributes.ts'

/** A request about a namespace is one within that namespace. */
export const requestNamespace = ({ resource, namespace, name }: Pick<Attributes, 'resource' | 'namespace' | 'name'>): string =>
  namespace === '' && resource.group === '' && resource.plural === 'namespaces' ? name : namespace
