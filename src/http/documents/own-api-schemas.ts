/** The words of which the parts of the document of `/keelson/v1` are made. */
export const text = { type: 'string' }
export const number = { type: 'integer', format: 'int64' }
export const time = { type: 'string', format: 'date-time' }
export const flag = { type: 'boolean' }
export const listOf = (items: object) => ({ type: 'array', items })
export const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const content = (schema: object) => ({ 'application/json': { schema } })
export const answer = (description: string, schema: object = { type: 'object' }) => ({ description, content: content(schema) })
export const body = (schema: object) => ({ content: content(schema) })
export const query = (name: string, description: string, schema: object = number) => ({ name, in: 'query', description, schema })
export const inPath = (name: string) => ({ name, in: 'path', required: true, schema: text })
export const FILE = { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } }
