/** A request as a command: of kubectl, and of curl. */

export type Sent = {
  readonly method: string
  readonly verb: string
  readonly path: string
  readonly query?: string
  readonly user: string
  readonly resource?: { group: string; resource: string; subresource: string; namespace: string; name: string }
}

const quoted = (text: string): string => (/^[\w./:=,@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)

export function kubectlOf({ resource, verb, path, query, user }: Sent): string {
  const as = ` --as ${quoted(user)}`
  if (!resource) return `kubectl get --raw ${quoted(path + (query ? `?${query}` : ''))}${as}`
  const type = `${resource.resource}${resource.group ? `.${resource.group}` : ''}`
  const place = resource.namespace ? ` -n ${quoted(resource.namespace)}` : ''
  const selectors = new URLSearchParams(query)
  const labels = selectors.get('labelSelector') ? ` -l ${quoted(selectors.get('labelSelector')!)}` : ''
  const fields = selectors.get('fieldSelector') ? ` --field-selector ${quoted(selectors.get('fieldSelector')!)}` : ''
  const words: Record<string, string> = {
    get: 'get',
    list: 'get',
    watch: 'get --watch',
    delete: 'delete',
    deletecollection: 'delete --all',
    create: 'create -f FILE',
    update: 'replace -f FILE',
    patch: 'patch -p PATCH',
  }
  return `kubectl ${words[verb] ?? verb} ${type}${resource.name ? ` ${quoted(resource.name)}` : ''}${resource.subresource ? ` --subresource ${resource.subresource}` : ''}${place}${labels}${fields}${as}`
}

/** With the files of a kubeconfig whose credentials are not inline. */
export const curlOf = ({ method, path, query }: Sent, origin: string): string =>
  `curl --cacert ca.pem --cert client.pem --key client.key -X ${method} ${quoted(`${origin}${path}${query ? `?${query}` : ''}`)}`
