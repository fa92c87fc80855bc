# docker build -t segvote . && docker run --rm -v "$PWD:/data" --user "$(id -u):$(id -g)" segvote annotate with without -o out
#
# No port is exposed: the review page listens on 127.0.0.1 of the container and is reached only by those who share its network
# on purpose, docs/installation.md.
FROM python:3.11-slim AS build
WORKDIR /source
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY src src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.11-slim
COPY --from=build /wheels /wheels
COPY constraints.txt /wheels/
# The versions that the tests passed with.
RUN wheel="$(ls /wheels/segvote-*.whl)" \
    && pip install --no-cache-dir --constraint /wheels/constraints.txt "${wheel}[video,web]" \
    && rm -r /wheels \
    && useradd --create-home --uid 1000 segvote
ENV SEGVOTE_CACHE=/tmp/segvote-cache
USER 1000
WORKDIR /data
ENTRYPOINT ["segvote"]
CMD ["--help"]
