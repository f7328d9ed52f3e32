/** The prefix of a resource: `/core/pods/` of `/core/pods/default/a`; the key itself where it is of none. */
export const resourceOf = (key: string): string => key.slice(0, key.indexOf('/', key.indexOf('/', 1) + 1) + 1) || key
