import { InvalidDecoratorTargetError } from '../../errors/setup.errors.js';

/** Arguments of a decorator. Their types are not reliable, since the code may not have been type-checked. */
interface DecoratorTarget<M> {
  target: unknown;
  key: unknown;
  descriptor: TypedPropertyDescriptor<M> | undefined;
}

/**
 * Returns the method that a decorator is on.
 *
 * @throws InvalidDecoratorTargetError for anything but a method of an instance
 */
export function checkTarget<M>(decorator: string, { target, key, descriptor }: DecoratorTarget<M>): M {
  const refuse = (place: string, remedy: string): never => {
    throw new InvalidDecoratorTargetError(decorator, place, remedy);
  };
  const member: unknown = typeof key === 'object' && key !== null ? Reflect.get(key, 'name') : key;
  if (key === undefined) {
    return refuse(`the class \`${nameOf(target)}\``, 'Put it on a method of the class.');
  }
  if (typeof key === 'object') {
    return refuse(
      `\`${String(member)}\`, compiled with standard decorators`,
      'Set `"experimentalDecorators": true` in tsconfig.json, which Nest needs as well.',
    );
  }
  if (typeof target === 'function') {
    return refuse(
      `the static member \`${String(member)}\``,
      'Put it on an instance method of a class that Nest constructs.',
    );
  }
  if (descriptor?.get !== undefined || descriptor?.set !== undefined) {
    return refuse(`the accessor \`${String(member)}\``, 'Put it on a method.');
  }
  const method = descriptor?.value;
  if (typeof method === 'function') return method;
  return refuse(`the property \`${String(member)}\``, `Make it a method: \`${String(member)}() { … }\`.`);
}

function nameOf(target: unknown): string {
  return typeof target === 'function' ? target.name : String(target);
}
