# Untried, but for hadolint. condyle as a command: docker run --rm -v "$PWD:/data" condyle fit take.csv -o out
FROM python:3.13-slim AS build
WORKDIR /src
COPY . .
RUN python -m pip wheel --no-cache-dir --wheel-dir /wheels .

FROM python:3.13-slim
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    python -m pip install --no-cache-dir --no-compile --no-index --find-links /wheels /wheels/condyle-*.whl \
    && useradd --create-home --uid 1000 condyle
USER 1000
WORKDIR /data
ENTRYPOINT ["condyle"]
CMD ["--help"]
