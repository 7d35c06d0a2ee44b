import { type ArgumentMetadata, BadRequestException, Injectable, type PipeTransform } from '@nestjs/common';

/** Trims a text, and throws a 400 if it is missing or empty. */
@Injectable()
export class RequiredTextPipe implements PipeTransform<unknown, string> {
  transform(value: unknown, { data }: ArgumentMetadata): string {
    const text = typeof value === 'string' ? value.trim() : '';
    if (text === '') throw new BadRequestException(`${data ?? 'The body'} must be a non-empty string.`);
    return text;
  }
}
